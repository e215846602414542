// Command stithy is the whole forge in one binary.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"stithy/internal/app"
	"stithy/internal/gitstore"
	"stithy/internal/platform/config"
	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/telemetry"
)

func main() {
	if gitstore.IsHook(os.Args[0]) {
		os.Exit(gitstore.Hook(os.Stdin, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	syscall.Umask(0o027)
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "stithy:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "stithy",
		Short:         "A self-hosted forge: source code, CI/CD and the API that existing clients know",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().String("config", "", "configuration file (default: $STITHY_CONFIG, stithy.yaml, /etc/stithy/stithy.yaml)")
	root.AddCommand(serveCommand(), migrateCommand(), adminCommand(), doctorCommand(), openapiCommand(), configCommand())
	return root
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
