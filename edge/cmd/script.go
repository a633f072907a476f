package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"edge/bpfvm"
	"edge/edge/gateway"
)

func newScript(env Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "script",
		Short:   "Look at programs",
		Long:    `script has the commands for programs, eBPF objects or C.`,
		Example: `  edge script check bot.c`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScriptCheck(env))
	return c
}

func newScriptCheck(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Verify programs as serve does, and say what they use",
		Long: `check compiles each FILE if it is C, verifies it as serve does, and prints its
programs: the hook, the length, the deepest stack, the functions they call. What
is wrong is told with file and line, and the exit status is 1.`,
		Example: `  edge script check bot.c
  edge script check .edge/scripts/*.o`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("a FILE is needed, none given")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				if err := checkScript(c.Context(), env, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func checkScript(ctx context.Context, env Env, name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return plain(err)
	}
	file := gateway.ProgramFile{Name: name, Content: content, Dir: filepath.Dir(name)}
	o, err := gateway.LoadProgram(ctx, file, nil, func(line string) { fmt.Fprintf(env.Err, "edge: %s\n", line) })
	if err != nil {
		return err
	}
	defer o.Close()
	return describeScript(env.Out, name, o)
}

func describeScript(w io.Writer, name string, o *bpfvm.Object) error {
	var b strings.Builder
	engine, why := o.Engine()
	fmt.Fprintf(&b, "%s: good, %s", name, engine)
	if why != nil {
		fmt.Fprintf(&b, " (%v)", why)
	}
	b.WriteByte('\n')
	for _, p := range o.Programs() {
		fmt.Fprintf(&b, "  %s %s: %d instructions, stack %d bytes at most\n", p.Section(), p.Name(), p.Instructions(), p.StackBytes())
		if helpers := p.Helpers(); len(helpers) > 0 {
			fmt.Fprintf(&b, "    calls %s\n", strings.Join(helpers, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
