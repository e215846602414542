package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/platform/postgres"
)

func serveCommand() *cobra.Command {
	var roles []string
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the forge until it is told to stop",
		Example: "  stithy serve\n  stithy serve --roles worker",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := app.CheckRoles(roles); err != nil {
				return err
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			defer a.Close()
			return a.Serve(cmd.Context(), roles, func(addr string) {
				a.Log.Info("ready", "address", addr, "url", a.Config.ExternalURL.String())
			})
		},
	}
	cmd.Flags().StringSliceVar(&roles, "roles", app.Roles, "what this process does")
	return cmd
}

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database's schema up to date",
		Example: "  STITHY_DATABASE_URL=postgres://stithy@localhost/stithy stithy migrate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := configure(cmd)
			if err != nil {
				return err
			}
			if err := cfg.RequireDatabase(); err != nil {
				return err
			}
			if err := postgres.Migrate(cmd.Context(), cfg.DatabaseURL.Reveal()); err != nil {
				return err
			}
			if err := app.EnsureKey(cmd.Context(), cfg, log); err != nil {
				return err
			}
			a, err := app.New(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			defer a.Close()
			if err := a.Prepare(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The schema is up to date.")
			return nil
		},
	}
}
