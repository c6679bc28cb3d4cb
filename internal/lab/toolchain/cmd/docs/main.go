// Command docs generates the registry's documentation in docs/ from the
// provider's schema, templates/ and examples/.
//
// The schema is asked of the built provider by OpenTofu, always: Terraform
// prints other parts of it, and the pages must not depend on what is installed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

const configuration = `terraform {
  required_providers {
    karpenter = { source = "karpenterd/karpenter" }
  }
}
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := toolchain.Root()
	if err != nil {
		return err
	}
	ready, err := toolchain.Prepare(ctx, os.Stderr, toolchain.Need{
		Tools: []toolchain.Tool{toolchain.Tofu, toolchain.Tfplugindocs}, Programs: []string{toolchain.Provider},
	})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "karpenter-docs-")
	if err != nil {
		return fmt.Errorf("schema folder make: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	schema, err := providerSchema(ctx, ready.Tools[toolchain.Tofu].Path, ready.Programs[toolchain.Provider], dir)
	if err != nil {
		return err
	}
	schemaFile := filepath.Join(dir, "schema.json")
	if err := os.WriteFile(schemaFile, schema, 0o600); err != nil {
		return fmt.Errorf("schema write: %w", err)
	}
	cmd := exec.CommandContext(ctx, ready.Tools[toolchain.Tfplugindocs].Path, "generate",
		"--provider-name", "karpenter", "--provider-dir", root, "--providers-schema", schemaFile)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("docs generate: %w\n%s", err, said.Bytes())
	}
	return nil
}

// providerSchema returns `tofu providers schema -json` of the provider, asked in the empty
// folder dir, under the bare provider name that tfplugindocs looks for.
func providerSchema(ctx context.Context, tofu, provider, dir string) ([]byte, error) {
	cli := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"karpenterd/karpenter\" = %q\n  }\n}\n", filepath.Dir(provider))
	for name, text := range map[string]string{"main.tf": configuration, "cli.tfrc": cli} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("schema ask: %w", err)
		}
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, tofu, "providers", "schema", "-json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("schema ask: %w\n%s", err, stderr.Bytes())
	}
	var doc struct {
		FormatVersion string                     `json:"format_version"`
		Schemas       map[string]json.RawMessage `json:"provider_schemas"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("schema read: %w", err)
	}
	if len(doc.Schemas) != 1 {
		return nil, fmt.Errorf("schema read: %d providers, want the one", len(doc.Schemas))
	}
	schemas := slices.Collect(maps.Values(doc.Schemas))
	doc.Schemas = map[string]json.RawMessage{"karpenter": schemas[0]}
	renamed, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("schema write: %w", err)
	}
	return renamed, nil
}
