package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"stithy/internal/app"
)

func doctorCommand() *cobra.Command {
	var repositories bool
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check what the forge stands on and say what to mend",
		Example: "  stithy doctor\n  stithy doctor --repositories",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := configure(cmd)
			if err != nil {
				return err
			}
			ill := 0
			for _, finding := range app.Examine(cmd.Context(), cfg) {
				ill += show(cmd, finding)
			}
			if repositories {
				damaged, err := checkRepositories(cmd)
				if err != nil {
					return fmt.Errorf("checking repositories: %w", err)
				}
				ill += damaged
			}
			if ill > 0 {
				return errors.New("some things need mending, see above")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&repositories, "repositories", false, "read every repository from end to end as well, which takes long")
	return cmd
}

// show prints a finding and says how many problems it is.
func show(cmd *cobra.Command, finding app.Finding) int {
	mark, ill := "ok  ", 0
	if finding.Problem != "" {
		mark, ill = "FAIL", 1
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s  %-14s %s\n", mark, finding.Subject, finding.Said())
	return ill
}

// checkRepositories shows the damaged ones, and on standard error how far it has
// come.
func checkRepositories(cmd *cobra.Command) (damaged int, err error) {
	a, err := openQuietly(cmd)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	if err := a.Ready(cmd.Context()); err != nil {
		return 0, err
	}
	const every = 100
	checked := 0
	err = a.CheckRepositories(cmd.Context(), func(f app.Finding, all int64) {
		if checked++; checked%every == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d repositories checked\n", checked, all)
		}
		if f.Problem != "" {
			damaged += show(cmd, f)
		}
	})
	if err == nil && damaged == 0 {
		show(cmd, app.Finding{Subject: "repositories", Fine: fmt.Sprintf("%d checked, none is damaged", checked)})
	} else if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d repositories are damaged\n", damaged, checked)
	}
	return damaged, err
}
