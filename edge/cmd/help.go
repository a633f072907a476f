package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"edge/edge/config"
)

// showGroups gives c the flags of groups, and a help text that keeps them
// apart.
func showGroups(c *cobra.Command, groups []config.Group) {
	for _, g := range groups {
		c.Flags().AddFlagSet(g.Flags)
	}
	c.Flags().SortFlags = false
	c.SetUsageFunc(func(c *cobra.Command) error {
		return writeUsage(c.OutOrStderr(), c, groups)
	})
}

func writeUsage(w io.Writer, c *cobra.Command, groups []config.Group) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsages())
	}
	fmt.Fprintf(&b, "\nSizes take k, m and g (powers of two), times ms, s, m and h.\n")
	_, err := io.WriteString(w, b.String())
	return err
}
