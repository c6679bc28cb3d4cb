package toolchain

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Origins of a tool.
const (
	FromAssets = "KUBEBUILDER_ASSETS"
	FromPath   = "PATH"
	FromCache  = "cache"
	FromBuild  = "built"
	FromSite   = "downloaded"
)

// Found is a program that is ready to run.
type Found struct {
	Path    string // absolute
	Version string // as 1.36.3, without a leading v
	Origin  string // FromAssets, FromPath, FromCache, FromBuild or FromSite
}

// find looks for a program that the user already has. Every candidate that is
// there but does not fit is said on w, so that nobody wonders why another was taken.
func find(ctx context.Context, w io.Writer, s spec) (Found, bool) {
	for _, a := range s.found {
		for _, place := range places(a.name) {
			v, err := versionOf(ctx, place.path, a.args)
			switch {
			case err != nil:
				_, _ = fmt.Fprintf(w, "%s is not used: %v\n", place.path, err)
			case !a.fits(v):
				_, _ = fmt.Fprintf(w, "%s %s is not used: wants %s\n", place.path, v, a.wants())
			default:
				return Found{Path: place.path, Version: v.String(), Origin: place.origin}, true
			}
		}
	}
	return Found{}, false
}

type place struct{ path, origin string }

func places(name string) []place {
	var found []place
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			found = append(found, place{p, FromAssets})
		}
	}
	if p, err := exec.LookPath(name); err == nil {
		found = append(found, place{p, FromPath})
	}
	for i := range found {
		if abs, err := filepath.Abs(found[i].path); err == nil {
			found[i].path = abs
		}
	}
	return found
}

func versionOf(ctx context.Context, path string, args []string) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// OpenTofu and Terraform refuse to start when the CLI configuration named in
	// the environment does not exist, and Terraform asks the network for updates.
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	cmd.Dir = os.TempDir() // a .tf file in the working directory would be read
	out, err := cmd.Output()
	if err != nil {
		return version{}, fmt.Errorf("version ask: %w", err)
	}
	v, ok := parseVersion(string(out))
	if !ok {
		return version{}, fmt.Errorf("version ask: no version in %q", firstLine(out))
	}
	return v, nil
}
