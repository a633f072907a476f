package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edge/ech/keydir"
	"edge/edge/echcheck"
)

func newKeysList(env Env) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the keys of a directory, and what is wrong with them",
		Long: `list shows the keys of the directory in the order in which they are given out.

The exit status is 1 when a file cannot be used: servers do not load a directory
with such a file, and go on with the keys they have.`,
		Example: `  edge keys list --dir /etc/edge/ech
  edge keys list --dir /etc/edge/ech --json | jq '.[] | select(.role == "current")'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			now := time.Now()
			l, err := keydir.List(dir, now)
			if err != nil {
				return err
			}
			rows := keyRows(l, now)
			if asJSON {
				err = writeJSON(env.Out, rows)
			} else {
				err = writeKeyTable(env.Out, rows)
			}
			if err != nil {
				return err
			}
			if l.Bad > 0 {
				return fmt.Errorf("%s: files that cannot be used: %d: mend them or take them away", dir, l.Bad)
			}
			return nil
		},
	}
	dirFlag(c, &dir)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// keyRow is a key of a directory, or a file that cannot be used.
type keyRow struct {
	*echcheck.Key          // nil for a file that cannot be used
	BadFile       string   `json:"bad_file,omitempty"`
	Problems      []string `json:"problems"`
}

func keyRows(l *keydir.Listing, now time.Time) []keyRow {
	given := keydir.GivenOut(l.Set, now)
	rows := []keyRow{}
	for _, e := range l.Entries {
		row := keyRow{Problems: append([]string{}, e.Problems...)}
		if e.Key == nil {
			row.BadFile = e.File
		} else {
			k := echcheck.NewKey(e.Key, slices.Contains(given, e.Key))
			row.Key = &k
		}
		rows = append(rows, row)
	}
	return rows
}

func writeKeyTable(w io.Writer, rows []keyRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tPUBLIC NAME\tKEM\tROLE\tGIVEN OUT\tNOT BEFORE\tREMOVE AFTER\tFILE\tPROBLEMS")
	for _, r := range rows {
		problems := "-"
		if len(r.Problems) > 0 {
			problems = strings.Join(r.Problems, "; ")
		}
		k := r.Key
		if k == nil {
			fmt.Fprintf(table, "-\t-\t-\t-\t-\t-\t-\t%s\t%s\n", r.BadFile, problems)
			continue
		}
		given := "no"
		if k.GivenOut {
			given = "yes"
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.PublicName, k.KEM, k.Role, given,
			optionalStamp(k.NotBefore), optionalStamp(k.RemoveAfter), k.File, problems)
	}
	return table.Flush()
}

func optionalStamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return stamp(*t)
}
