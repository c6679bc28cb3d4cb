package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // the command line was wrong, and nothing was done
	exitPartly = 3 // something was done, and not all
	exitFound  = 3 // what was asked about was found
)

// plugin is how users call the program where kubectl runs it, by the name of its file.
const plugin = "kubectl-karpenter"

// near is the distance up to which a flag that does not exist is taken for a slip.
const near = 3

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is a command line that is wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// partlyError is of a command that has done something, and not all.
type partlyError struct{ error }

func (e partlyError) Unwrap() error { return e.error }

// execute runs the program with its arguments, its own name first, and returns the exit code.
func execute(ctx context.Context, args []string, s streams, env func(string) string) int {
	root := newRoot(s, env)
	if strings.HasPrefix(filepath.Base(args[0]), plugin) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl karpenter"}
	}
	root.SetArgs(args[1:])
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(s.err, "karpenterd:", err)
	var usage usageError
	var partly partlyError
	var found foundError
	switch {
	case !began || errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &partly):
		return exitPartly
	case errors.As(err, &found):
		return exitFound
	}
	return exitFailed
}

// newRoot makes the program's commands.
func newRoot(s streams, env func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:   "karpenterd",
		Short: "provisions the nodes of an EKS cluster just in time, and explains what it does",
		Long: "karpenterd provisions the nodes of an EKS cluster just in time.\n\n" +
			"\"karpenterd run\" is the daemon in the cluster. The other commands are for users and their machines.",
		SilenceUsage: true, SilenceErrors: true,
		Version: version + " " + runtime.Version(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w%s; %q lists the flags", err, meant(c, err), c.CommandPath()+" --help")
	})
	root.AddCommand(
		runCommand(env), simulateCommand(s), reportCommand(s), explainCommand(env), uiCommand(), replayCommand(s), convertCommand(s), definitionsCommand(s), handbackCommand(s),
		manifestsCommand(s, install.BuildImage(version, imageDigest)), iamPolicyCommand(s),
		&cobra.Command{
			Use: "version", Short: "print the version", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(s.out, version, runtime.Version())
				return err //nolint:wrapcheck // of the caller's writer
			},
		},
	)
	return root
}

// meant names the flag that is nearest to one that does not exist; "" if none is near.
func meant(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	best, least := "", near+1
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := levenshtein.Distance(f.Name, unknown.GetSpecifiedName(), nil); d < least {
			best, least = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean --%s?", best)
}

// noArguments refuses arguments. why says what the command works on instead.
func noArguments(why string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unexpected argument %q: %s", args[0], why)
		}
		return nil
	}
}
