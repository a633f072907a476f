package cmd

import (
	"io"

	"github.com/spf13/cobra"

	"edge/edge/sdk"
)

func newSDK(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "sdk",
		Short: "Print edge.h, what programs are written with",
		Long: `sdk prints edge.h: the hooks, the context and every function that programs may
call, each with what it does. pack, serve --script and script check have it at
hand by themselves; print it for an editor, or to compile elsewhere.`,
		Example: `  edge sdk > edge.h`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(env.Out, sdk.Header)
			return err
		},
	}
}
