package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stithy/internal/platform/config"
)

func configCommand() *cobra.Command {
	var origin bool
	show := &cobra.Command{
		Use:     "show",
		Short:   "Print every setting of the process, passwords as dots",
		Example: "  stithy config show --origin",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := configure(cmd)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, v := range cfg.Values() {
				line := v.Key + "\t" + v.Value
				if origin {
					line += "\t" + v.Origin
				}
				fmt.Fprintln(w, line)
			}
			return w.Flush()
		},
	}
	show.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	reference := &cobra.Command{
		Use:   "reference",
		Short: "Print the table of all settings, as Markdown",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), config.Reference())
			return err
		},
	}
	check := &cobra.Command{
		Use:   "check",
		Short: "Read the configuration and say what is wrong with it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := configure(cmd)
			if err != nil {
				return err
			}
			if err := cfg.RequireDatabase(); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "The configuration is valid. `stithy doctor` tries what it names.")
			return err
		},
	}
	return group("config", "Look at the configuration", show, check, reference)
}
