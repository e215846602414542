package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/secretbox"
	"stithy/internal/token"
	"stithy/internal/user"
)

func adminCommand() *cobra.Command {
	return group("admin", "Manage accounts from the machine itself", createUserCommand(), createTokenCommand(), listUsersCommand(), resetPasswordCommand(),
		accountCommand("block-user", "Keep a user out and end their sessions", "%s is blocked.\n", move(user.Block)),
		accountCommand("unblock-user", "Let a blocked user in again", "%s is no longer blocked.\n", move(user.Unblock)),
		accountCommand("disable-two-factor", "Let a user who lost their second factor sign in without one", "%s signs in without a second factor.\n",
			func(ctx context.Context, a *app.App, by access.Actor, id int64) error {
				return a.Users.DisableTwoFactor(ctx, by, id)
			}),
		mailCommand(), verifyAuditCommand(), retireAuditCommand())
}

// accountCommand does something to one account.
func accountCommand(use, short, done string, do func(context.Context, *app.App, access.Actor, int64) error) *cobra.Command {
	var username string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		Example: "  stithy admin " + use + " --username ann",
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			u, err := a.Users.FindByUsername(cmd.Context(), username)
			if err != nil {
				return err
			}
			if err := do(cmd.Context(), a, access.Actor{Process: cmd.CommandPath()}, u.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), done, u.Username)
			return err
		}),
	}
	cmd.Flags().StringVar(&username, "username", "", "whose account it is")
	require(cmd, "username")
	return cmd
}

// move changes the state of an account. What changes nothing is an error here:
// somebody at a terminal expects that something happened.
func move(m user.Transition) func(context.Context, *app.App, access.Actor, int64) error {
	return func(ctx context.Context, a *app.App, by access.Actor, id int64) error {
		before, err := a.Users.Find(ctx, id)
		if err != nil {
			return err
		}
		if _, err := a.Users.Transition(ctx, by, id, m); err != nil {
			return err
		}
		after, err := a.Users.Find(ctx, id)
		if err == nil && after.State == before.State {
			err = fmt.Errorf("nothing to %s: the account is %s", m, after.State)
		}
		return err
	}
}

func resetPasswordCommand() *cobra.Command {
	var username, passwordFile string
	cmd := &cobra.Command{
		Use:     "reset-password",
		Short:   "Give a user a password, which they have to change when they sign in",
		Example: "  stithy admin reset-password --username ann --password-file ann.txt",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			password, err := readPassword(passwordFile)
			if err != nil {
				return err
			}
			u, err := a.Users.FindByUsername(cmd.Context(), username)
			if err != nil {
				return err
			}
			if _, err := a.Users.Update(cmd.Context(), access.Actor{Process: cmd.CommandPath()}, u.ID, user.Attributes{Password: &password}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has a new password and is signed out everywhere.\n", u.Username)
			return err
		}),
	}
	cmd.Flags().StringVar(&username, "username", "", "whose password it is")
	cmd.Flags().StringVar(&passwordFile, "password-file", "", "file that holds the password")
	require(cmd, "username", "password-file")
	return cmd
}

func listUsersCommand() *cobra.Command {
	var admins bool
	cmd := &cobra.Command{
		Use:     "list-users",
		Short:   "List accounts: id, username, state, address and name",
		Example: "  stithy admin list-users --admins",
		Args:    cobra.NoArgs,
		RunE: withApp(func(cmd *cobra.Command, a *app.App) error {
			// Who may run this on the machine sees what an administrator sees.
			filter := user.Filter{Admins: admins, Visible: access.Actor{Person: &access.Person{Admin: true}}}
			page := paging.Request{PerPage: 100, Keyset: true, OrderBy: "id"}
			for {
				found, err := a.Users.List(cmd.Context(), filter, page)
				if err != nil {
					return err
				}
				for _, u := range found.Items {
					role := ""
					if u.Admin {
						role = " (administrator)"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%d\t%s\t%s\t%s\t%s%s\n", u.ID, u.Username, u.State, u.Email, u.Name, role)
				}
				if page.Cursor = found.Next; !found.More || found.Next == nil {
					return nil
				}
			}
		}),
	}
	cmd.Flags().BoolVar(&admins, "admins", false, "only administrators")
	return cmd
}

func readPassword(path string) (secretbox.Secret, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return secretbox.Secret(strings.TrimRight(string(text), "\r\n")), nil
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
			password, err := readPassword(passwordFile)
			if err != nil {
				return err
			}
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
	var known []string
	for _, s := range access.PersonalScopes(true) {
		known = append(known, string(s))
	}
	flags.StringSliceVar(&scopes, "scopes", nil, "what the token may be used for, of "+strings.Join(known, ", "))
	flags.IntVar(&days, "days", 0, "days until it expires (default: the instance's maximum)")
	require(cmd, "username", "name", "scopes")
	return cmd
}

// withApp runs a command on an instance whose schema and key fit.
func withApp(run func(*cobra.Command, *app.App) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a, err := openQuietly(cmd)
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
