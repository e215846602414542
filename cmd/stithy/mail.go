package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/platform/mail"
)

func mailCommand() *cobra.Command {
	return group("mail", "Try the mail server, and look after addresses that it refused", testMailCommand(), refusedCommand(), clearCommand())
}

func testMailCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test ADDRESS",
		Short:   "Send one mail and say what the server answered",
		Example: "  stithy admin mail test ann@example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := configure(cmd)
			if err != nil {
				return err
			}
			sender, err := mail.New(cfg.SMTPURL, cfg.MailFrom)
			if err != nil {
				return err
			}
			if !sender.Configured() {
				return errors.New("no mail server is named: set smtp_url (STITHY_SMTP_URL), such as smtp://user:password@host:587")
			}
			site := cfg.ExternalURL.String()
			answer, err := sender.Deliver(cmd.Context(), mail.Message{
				To: args[0], Subject: cfg.ExternalURL.Host + ": A mail to try the mail server",
				Text: fmt.Sprintf("Somebody who looks after %s tried whether it can send mail, at %s. It can.\n", site, time.Now().UTC().Format(time.RFC3339)),
				HTML: fmt.Sprintf("<p>Somebody who looks after %s tried whether it can send mail. It can.</p>", site),
			})
			if err != nil {
				return fmt.Errorf("%w; check smtp_url, mail_from (%s) and the address", err, cfg.MailFrom)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The server took a mail from %s to %s. It answered: %s\n", cfg.MailFrom, args[0], answer)
			return err
		},
	}
}

// refusedPage is how many addresses are read at a time.
const refusedPage = 500

func refusedCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "refused",
		Short:   "List the addresses that the server refused for good, which get no mail any more",
		Example: "  stithy admin mail refused",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			for after := ""; ; {
				found, err := a.Notifications.RefusedAll(cmd.Context(), after, refusedPage)
				if err != nil {
					return err
				}
				for _, r := range found {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", r.Address, r.RefusedAt.UTC().Format(time.RFC3339), r.Answer); err != nil {
						return err
					}
					after = r.Address
				}
				if len(found) < refusedPage {
					return nil
				}
			}
		}),
	}
}

func clearCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:     "clear",
		Short:   "Let an address that the server refused be mailed again",
		Example: "  stithy admin mail clear --address ann@example.com",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			if err := a.Notifications.Clear(cmd.Context(), address); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is mailed again.\n", address)
			return err
		}),
	}
	cmd.Flags().StringVar(&address, "address", "", "as `stithy admin mail refused` shows it")
	require(cmd, "address")
	return cmd
}
