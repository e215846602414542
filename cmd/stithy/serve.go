package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/schema"
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
				// What was needed to start, and for the first jobs, will not be needed again.
				time.AfterFunc(startup, releaseStartup)
				a.Log.Info("ready", "address", addr, "url", a.Config.ExternalURL.String())
			})
		},
	}
	cmd.Flags().StringSliceVar(&roles, "roles", app.Roles, "what this process does")
	return cmd
}

func migrateCommand() *cobra.Command {
	var status bool
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Bring the database's schema up to date",
		Example: "  STITHY_DATABASE_URL=postgres://stithy@localhost/stithy stithy migrate\n  stithy migrate --status",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := configure(cmd)
			if err != nil {
				return err
			}
			if err := cfg.RequireDatabase(); err != nil {
				return err
			}
			if status {
				return showSchema(cmd, cfg)
			}
			if err := app.EnsureDataDir(cfg); err != nil {
				return err
			}
			applied, err := schema.Migrate(cmd.Context(), cfg.DatabaseURL.Reveal())
			for _, name := range applied {
				fmt.Fprintln(cmd.OutOrStdout(), "Applied "+name+".")
			}
			if err != nil {
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
			status, err := schema.Versions(cmd.Context(), a.DB)
			if err != nil {
				return err
			}
			if len(applied) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "The schema was already up to date at version %d.\n", status.Newest())
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The schema is up to date at version %d.\n", status.Newest())
			return nil
		},
	}
	cmd.Flags().BoolVar(&status, "status", false, "say what would be done, and change nothing")
	return cmd
}

// showSchema says which migrations are to come.
func showSchema(cmd *cobra.Command, cfg *config.Config) error {
	db, err := postgres.Open(cmd.Context(), cfg.DatabaseURL.Reveal(), 1)
	if err != nil {
		return err
	}
	defer db.Close()
	status, err := schema.Versions(cmd.Context(), db)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "The schema is at version %d.\n", status.Newest())
	for _, version := range status.Missing() {
		fmt.Fprintf(out, "Version %d is to come.\n", version)
	}
	if status.Pending() == 0 {
		fmt.Fprintln(out, "It is up to date.")
	} else {
		fmt.Fprintf(out, "%d migrations are to come, those of the job queue among them: run `stithy migrate`.\n", status.Pending())
	}
	return nil
}

// startup is how long the first jobs take.
const startup = 500 * time.Millisecond
