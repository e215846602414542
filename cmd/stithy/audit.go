package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/audit"
)

func verifyAuditCommand() *cobra.Command {
	var kept []string
	cmd := &cobra.Command{
		Use:   "verify-audit",
		Short: "Read the audit trail and name whatever was changed in it since it was written",
		Long: "Reads the audit trail from the database and checks it with the key file. The server need not run. It names every event that was changed, " +
			"deleted, inserted, reordered or moved to another entity, and every chain that was cut off, and fails if there is one.",
		Example: "  stithy admin verify-audit --head 42:5f0c…",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			var heads []audit.Head
			for _, text := range kept {
				h, err := audit.ParseHead(text)
				if err != nil {
					return err
				}
				heads = append(heads, h)
			}
			r, err := a.Audit.Verify(cmd.Context(), heads...)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, f := range r.Findings {
				fmt.Fprintln(out, f)
			}
			if r.More {
				fmt.Fprintln(out, "There are more findings than can be listed.")
			}
			fmt.Fprintf(out, "%d events in %d blocks, %d not sealed yet, %d months retired.\n", r.Sealed, r.Blocks, r.Waiting, r.Retired)
			if r.Head.Block > 0 {
				fmt.Fprintf(out, "Head: %s\n", r.Head)
			}
			if len(r.Findings) > 0 {
				return errors.New("the audit trail is not as it was written: keep the database as it is and find out who has access to it")
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&kept, "head", nil, "a head that was kept elsewhere, as this command and the log print it; finds a trail that was set back")
	return cmd
}

func retireAuditCommand() *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use:     "retire-audit",
		Short:   "Drop a month of the audit trail for good, and sign that it was dropped",
		Example: "  stithy admin retire-audit --month 2024-05",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			month, err := time.Parse("2006-01", text)
			if err != nil {
				return fmt.Errorf("%q is not a month: write it as 2024-05", text)
			}
			if err := a.Audit.Retire(cmd.Context(), month); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The audit events of %s are gone.\n", text)
			return err
		}),
	}
	cmd.Flags().StringVar(&text, "month", "", "the month, as in 2024-05")
	require(cmd, "month")
	return cmd
}
