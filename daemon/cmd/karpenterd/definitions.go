package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

func definitionsCommand(s streams) *cobra.Command {
	older := false
	command := &cobra.Command{
		Use: "definitions", Short: "write the custom resource definitions for kubectl apply",
		Example: "  karpenterd definitions | kubectl apply --server-side -f -",
		Args:    noArguments("give flags only"),
		RunE:    func(*cobra.Command, []string) error { return definitions(s.out, older) },
	}
	command.Flags().BoolVar(&older, "legacy", false, "write those of the older kinds that the daemon serves, Provisioner and AWSNodeTemplate, and no others")
	return command
}

// definitions writes CustomResourceDefinitions for kubectl apply.
func definitions(out io.Writer, older bool) error {
	list := install.CRDs
	if older {
		list = install.LegacyCRDs
	}
	all, err := list()
	if err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	if err := writeObjects(out, all); err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	return nil
}
