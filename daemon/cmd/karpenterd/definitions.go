package main

import (
	"flag"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// definitions is the command "definitions": it writes CustomResourceDefinitions for
// kubectl apply.
func definitions(args []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("definitions", flag.ContinueOnError)
	flags.SetOutput(problems)
	older := flags.Bool("legacy", false, "write those of Provisioner and AWSNodeTemplate, and no others")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("definitions: unexpected argument %q: give flags only", flags.Arg(0))
	}
	list := install.CRDs
	if *older {
		list = install.LegacyCRDs
	}
	all, err := list()
	if err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	for _, definition := range all {
		text, err := yaml.Marshal(definition.Object)
		if err != nil {
			return fmt.Errorf("definitions: %s write: %w", definition.GetName(), err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return fmt.Errorf("definitions: output write: %w", err)
		}
	}
	return nil
}
