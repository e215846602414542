package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"stithy/internal/app"
)

func openapiCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "openapi",
		Short:   "Print the OpenAPI document, or write all documents of the API",
		Example: "  stithy openapi > openapi.yaml\n  stithy openapi --write docs/api",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			documents, err := app.Documents()
			if err != nil {
				return err
			}
			if dir == "" {
				_, err := cmd.OutOrStdout().Write(documents["openapi.yaml"])
				return err
			}
			for name, text := range documents {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Wrote %d documents to %s.\n", len(documents), dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "write", "", "directory to write openapi.yaml, routes.txt and permissions.md to")
	return cmd
}
