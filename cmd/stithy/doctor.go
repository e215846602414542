package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stithy/internal/app"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Check what the forge stands on and say what to mend",
		Example: "  stithy doctor",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := configure(cmd)
			if err != nil {
				return err
			}
			ill := 0
			for _, finding := range app.Examine(cmd.Context(), cfg) {
				mark := "ok  "
				if finding.Problem != "" {
					mark, ill = "FAIL", ill+1
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %-14s %s\n", mark, finding.Subject, finding.Said())
			}
			if ill > 0 {
				return errors.New("some things need mending, see above")
			}
			return nil
		},
	}
}
