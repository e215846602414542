// Command threats prints which test shows which claimed row of docs/threats.md. It fails when a row has no test, and
// when a test carries the id of a row that nobody claimed. It runs at the root of the module.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"stithy/internal/ledger"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "threats:", err)
		os.Exit(1)
	}
}

const document = "docs/threats.md"

func run() error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	rows, err := ledger.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	tests, err := ledger.Find(os.DirFS("."))
	if err != nil {
		return err
	}
	shown, problems := ledger.Threats(rows, tests)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	count := 0
	for _, row := range rows {
		for i, name := range shown[row.ID] {
			id := row.ID
			if i > 0 {
				id = ""
			}
			fmt.Fprintf(out, "%s\t%s\n", id, name)
			count++
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(problems) > 0 {
		return errors.New(document + ":\n" + strings.Join(problems, "\n"))
	}
	fmt.Printf("%d rows, %d tests\n", len(rows), count)
	return nil
}
