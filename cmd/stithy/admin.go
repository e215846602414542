package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/kit/access"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token"
	"stithy/internal/user"
)

func adminCommand() *cobra.Command {
	admin := &cobra.Command{Use: "admin", Short: "Manage accounts from the machine itself"}
	admin.AddCommand(createUserCommand(), createTokenCommand())
	return admin
}

func createUserCommand() *cobra.Command {
	var username, name, email, passwordFile string
	var isAdmin bool
	cmd := &cobra.Command{
		Use:     "create-user",
		Short:   "Create a user who can sign in at once",
		Example: "  stithy admin create-user --username ann --name 'Ann Lee' --email ann@example.com --password-file ann.txt --admin",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			text, err := os.ReadFile(passwordFile)
			if err != nil {
				return fmt.Errorf("reading the password: %w", err)
			}
			password := secretbox.Secret(strings.TrimRight(string(text), "\r\n"))
			u, err := a.Users.Create(cmd.Context(), access.Actor{Process: cmd.CommandPath()}, user.Attributes{
				Username: &username, Name: &name, Email: &email, Password: &password, Admin: &isAdmin, Confirmed: true,
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Created user %s with id %d.\n", u.Username, u.ID)
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&username, "username", "", "name in URLs and mentions")
	flags.StringVar(&name, "name", "", "name as people write it")
	flags.StringVar(&email, "email", "", "address, taken as confirmed")
	flags.StringVar(&passwordFile, "password-file", "", "file that holds the password")
	flags.BoolVar(&isAdmin, "admin", false, "the user administers the instance")
	require(cmd, "username", "name", "email", "password-file")
	return cmd
}

func createTokenCommand() *cobra.Command {
	var username, name string
	var scopes []string
	var days int
	cmd := &cobra.Command{
		Use:     "create-token",
		Short:   "Create a personal access token and print it, alone, on standard output",
		Example: "  stithy admin create-token --username ann --name laptop --scopes api,read_user",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			u, err := a.Users.FindByUsername(cmd.Context(), username)
			if err != nil {
				return err
			}
			wanted := token.Draft{Name: name}
			for _, s := range scopes {
				wanted.Scopes = append(wanted.Scopes, access.Scope(s))
			}
			if days > 0 {
				wanted.ExpiresAt = new(a.Clock.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, days))
			}
			_, secret, err := a.Tokens.Create(cmd.Context(), access.Actor{Process: cmd.CommandPath()}, u.ID, wanted)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), secret.Reveal())
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&username, "username", "", "whose token it is")
	flags.StringVar(&name, "name", "", "what the token is for")
	flags.StringSliceVar(&scopes, "scopes", nil, "what the token may be used for")
	flags.IntVar(&days, "days", 0, "days until it expires (default: the instance's maximum)")
	require(cmd, "username", "name", "scopes")
	return cmd
}

// withApp runs a command on an instance whose schema and key fit.
func withApp(run func(*cobra.Command, *app.App) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a, err := open(cmd)
		if err != nil {
			return err
		}
		defer a.Close()
		if err := a.Ready(cmd.Context()); err != nil {
			return err
		}
		return run(cmd, a)
	}
}

// require marks flags that have no default. It panics on a name that the
// command does not have.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}
