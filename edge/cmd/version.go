package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker (make build). A binary built without
// it says what the Go tool recorded.
var version, commit string

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go that built this binary",
		Example: "  edge version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, c := buildVersion()
			_, err := fmt.Fprintf(env.Out, "edge %s (commit %s, %s, %s/%s)\n", v, c, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion returns the version and the commit of this binary, "unknown"
// where neither the linker nor the Go tool recorded them.
func buildVersion() (v, c string) {
	v, c = version, commit
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if v == "" {
		v = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && c == "":
			c = s.Value
		case s.Key == "vcs.modified" && s.Value == "true" && commit == "":
			dirty = "-dirty"
		}
	}
	if v == "" {
		v = "unknown"
	}
	if c == "" {
		return v, "unknown"
	}
	return v, c + dirty
}
