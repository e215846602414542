package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stithy/internal/platform/config"
)

func configCommand() *cobra.Command {
	parent := &cobra.Command{Use: "config", Short: "Look at the configuration"}
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
	parent.AddCommand(show, reference)
	return parent
}
