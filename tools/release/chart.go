package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// Where the chart is, and where its package belongs, in the checkout.
const (
	chartSource = "daemon/chart"
	chartFolder = "bin/chart"
)

// chartName is the name of the daemon's chart; empty where the source has no chart.
func chartName(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, chartSource, "Chart.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("chart read: %w", err)
	}
	return chartNameOf(text)
}

func chartNameOf(text []byte) (string, error) {
	var chart struct {
		Name string `json:"name"`
	}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return "", fmt.Errorf("chart read: %w", err)
	}
	if chart.Name == "" {
		return "", errors.New("chart read: Chart.yaml has no name")
	}
	return chart.Name, nil
}

// packChart writes the chart with the version of the release and the digest of its image, and
// packages it. Where the source has no chart, nothing is packaged.
func packChart(ctx context.Context, root, version, digest string) error {
	folder := filepath.Join(root, chartFolder)
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("chart folder clear: %w", err)
	}
	name, err := chartName(root)
	if err != nil || name == "" {
		return err
	}
	found, err := toolchain.Ensure(ctx, os.Stderr, toolchain.Helm)
	if err != nil {
		return err
	}
	written := chartFolder + "/" + name
	for _, args := range [][]string{
		{"go", "run", "./internal/install/cmd/chart", "-version", version, "-digest", digest, "-out", written},
		{found[toolchain.Helm].Path, "package", written, "--destination", chartFolder},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("chart package: %w: %s", err, out)
		}
	}
	return nil
}
