// Command stithy is the whole forge in one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/gitstore"
	"stithy/internal/platform/config"
	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/telemetry"
	"stithy/internal/setting"
)

// Exit codes: 1 for what did not work, 2 for a command line that makes no sense.
const (
	failed     = 1
	misspelled = 2
)

func main() {
	if gitstore.IsHook(os.Args[0]) {
		os.Exit(gitstore.Hook(os.Stdin, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	syscall.Umask(0o027)
	root := command()
	begun := false
	notice(root, &begun)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "stithy:", err)
	if hint := hint(err); hint != "" {
		fmt.Fprintln(os.Stderr, hint)
	}
	if !begun {
		fmt.Fprintf(os.Stderr, "Run `%s --help` for what there is.\n", cmd.CommandPath())
		os.Exit(misspelled)
	}
	os.Exit(failed)
}

// hint is what to do about an error that says only what the machine saw.
func hint(err error) string {
	var connecting *pgconn.ConnectError
	switch {
	case errors.As(err, &connecting):
		return "Check that PostgreSQL runs, that the database exists (createdb makes one) and that STITHY_DATABASE_URL is right; `stithy doctor` looks at all of it."
	case errors.Is(err, syscall.EADDRINUSE):
		return "Another program listens there: end it, or set listen (for SSH, ssh.listen) to another address."
	}
	return ""
}

// notice tells whether any command was begun: what fails before is the command
// line.
func notice(cmd *cobra.Command, begun *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*begun = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		notice(sub, begun)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "stithy",
		Short:         "A self-hosted forge: source code, CI/CD and the API that existing clients know",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().String("config", "", "configuration file (default: $STITHY_CONFIG, stithy.yaml, /etc/stithy/stithy.yaml)")
	root.AddCommand(serveCommand(), migrateCommand(), adminCommand(), doctorCommand(), openapiCommand(), configCommand(), versionCommand())
	return root
}

// group is a command that only has others below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := ""
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit it was built from, and the version of Go",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "stithy version", version())
			return err
		},
	}
}

func version() string {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " with changes"
			}
		}
	}
	return fmt.Sprintf("%s, commit %s, %s", setting.Version, commit, runtime.Version())
}

// configure reads the configuration and makes the log that goes with it. The
// log goes to standard error: standard output belongs to what was asked for.
func configure(cmd *cobra.Command) (*config.Config, *slog.Logger, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, nil, err
	}
	cfg, err := config.Load(path, failpoint.Environment(os.Environ()))
	if err != nil {
		return nil, nil, err
	}
	return cfg, telemetry.NewLogger(os.Stderr, cfg.LogLevel, cfg.LogFormat), nil
}

// open puts the application together for a command that needs the database.
func open(cmd *cobra.Command) (*app.App, error) {
	cfg, log, err := configure(cmd)
	if err != nil {
		return nil, err
	}
	if err := cfg.RequireDatabase(); err != nil {
		return nil, err
	}
	return app.New(cmd.Context(), cfg, log)
}

// openQuietly is open for a command of one act: what it did is its answer, and
// the log has only what is wrong. Who wants all of it says log_level: debug.
func openQuietly(cmd *cobra.Command) (*app.App, error) {
	cfg, log, err := configure(cmd)
	if err != nil {
		return nil, err
	}
	if err := cfg.RequireDatabase(); err != nil {
		return nil, err
	}
	if cfg.LogLevel == slog.LevelInfo {
		log = telemetry.NewLogger(os.Stderr, slog.LevelWarn, cfg.LogFormat)
	}
	return app.New(cmd.Context(), cfg, log)
}
