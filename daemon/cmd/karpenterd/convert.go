package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// maxManifest bounds a file that is read: more is no manifest.
const maxManifest = 64 << 20

// conversion is the command "convert".
type conversion struct {
	hcl, strict           bool
	profile, role, daemon string
}

func convertCommand(s streams) *cobra.Command {
	var c conversion
	command := &cobra.Command{
		Use:   "convert [FILE | FOLDER | -]...",
		Short: "write manifests of Karpenter as v1, or as Terraform configuration",
		Long: "convert writes manifests of Karpenter's older APIs (v1alpha5, v1alpha1, v1beta1) as v1, and with\n" +
			"--hcl manifests of any of its APIs, v1 included, as Terraform configuration. It reads files, all\n" +
			"manifests below folders, and standard input for \"-\" or without any name, also if gzip has packed\n" +
			"them. What is not of Karpenter is skipped. Warnings say what changes. The exit code is 3 if\n" +
			"something is written, and not complete: a folder has templates, or a name is there twice.",
		Example: "  karpenterd convert provisioner.yaml > nodepool.yaml\n  karpenterd convert --hcl manifests/ > pools.tf\n  kubectl get nodepools,ec2nodeclasses -o yaml | karpenterd convert --hcl > pools.tf",
		RunE:    func(_ *cobra.Command, args []string) error { return c.run(args, s) },
	}
	flags := command.Flags()
	flags.BoolVar(&c.hcl, "hcl", false, "write resources of the Terraform provider in place of manifests; templates such as ${var.name} stay")
	flags.StringVar(&c.daemon, "daemon", "", "with --hcl: what node classes refer to for the order of destruction, such as karpenter_daemon.this.id; default: a variable")
	flags.BoolVar(&c.strict, "strict", false, "take warnings for errors")
	flags.StringVar(&c.profile, "instance-profile", "", "instance profile of EC2NodeClasses that name none")
	flags.StringVar(&c.role, "role", "", "role of EC2NodeClasses that name no instance profile")
	return command
}

// run writes manifests or Terraform configuration to out, and warnings to err. Nothing is
// written to out if there is an error.
func (c *conversion) run(args []string, s streams) error {
	if c.profile != "" && c.role != "" {
		return usageError{errors.New("convert: --instance-profile and --role exclude each other; give one of them")}
	}
	if c.daemon != "" && !c.hcl {
		return usageError{errors.New("convert: --daemon is for Terraform configuration; give --hcl, too")}
	}
	sources, skipped, err := (&reading{limit: maxManifest}).sources(args, s.in)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	result := legacy.Convert(sources, legacy.Options{InstanceProfile: c.profile, Role: c.role})
	text, warnings, err := c.output(result)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	say := func(as string, problems []legacy.Problem) {
		for _, p := range problems {
			fmt.Fprintln(s.err, as+":", p)
		}
	}
	say("error", result.Errors)
	say("warning", warnings)
	for _, what := range slices.Concat(skipped, result.Others) {
		fmt.Fprintln(s.err, "skipped:", what)
	}
	say("left out", result.Left)
	say("twice", result.Twice)
	incomplete := incompleteness(result)
	switch n := len(warnings); {
	case len(result.Errors) > 0:
		return fmt.Errorf("convert: %s; nothing is written", quantity.Count(int64(len(result.Errors)), "error"))
	case text == "" && len(result.Left) > 0:
		return fmt.Errorf("convert: %s left out, and nothing else is of Karpenter; nothing is written", are(len(result.Left), "document"))
	case text == "" && n > 0:
		return errors.New("convert: nothing is written; the warnings say why")
	case text == "":
		return errors.New("convert: the input has no object of Karpenter; name files or folders with Provisioners, AWSNodeTemplates, NodePools or EC2NodeClasses")
	case c.strict && incomplete != "":
		return fmt.Errorf("convert: not complete: %s; --strict takes that for an error, and nothing is written", incomplete)
	case c.strict && n > 0:
		return fmt.Errorf("convert: %s, which --strict takes for errors; nothing is written", quantity.Count(int64(n), "warning"))
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		return fmt.Errorf("convert: output write: %w", err)
	}
	if incomplete != "" {
		return partlyError{errors.New("convert: not complete: " + incomplete)}
	}
	return nil
}

// incompleteness says why the output cannot stand for the input as it is; "" if it can.
func incompleteness(result legacy.Result) string {
	var why []string
	if n := len(result.Left); n > 0 {
		why = append(why, are(n, "document")+" left out")
	}
	if n := result.SharedNames(); n > 0 {
		why = append(why, "of "+quantity.Count(int64(n), "name")+" there are several objects, and all are written")
	}
	return strings.Join(why, ", and ")
}

// are is a number of things with its verb.
func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return quantity.Count(int64(n), thing) + " are"
}

// output is the text to write, with all warnings. There is none if there are errors.
func (c *conversion) output(result legacy.Result) (string, []legacy.Problem, error) {
	if c.hcl {
		text, more := result.HCL(c.daemon)
		return text, slices.Concat(result.Warnings, more), nil
	}
	text, err := result.YAML()
	if err != nil {
		return "", nil, fmt.Errorf("manifests write: %w", err)
	}
	return text, result.Warnings, nil
}
