package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const rootModule = "github.com/karpenterd/terraform-provider-karpenter"

// Root finds the top of the checkout that the working directory lies in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("repository find: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && firstLine(text) == "module "+rootModule {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("repository find: %w: run this from inside one", ErrNoRepository)
		}
		dir = parent
	}
}

// CacheDir is the folder outside the checkout that everything built is kept in.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache directory find: %w", err)
	}
	return filepath.Join(base, "karpenterd"), nil
}

// module is a folder under tools/ and what its go.mod pins.
type module struct {
	name     string
	dir      string
	versions map[string]string // module path -> version with its v
	cache    string            // folder that its executables are kept in
}

func loadModule(ctx context.Context, name string) (module, error) {
	root, err := Root()
	if err != nil {
		return module{}, err
	}
	m := module{name: name, dir: filepath.Join(root, "tools", name)}
	gomod, err := os.ReadFile(filepath.Join(m.dir, "go.mod"))
	if err != nil {
		return module{}, fmt.Errorf("tools module read: %w", err)
	}
	gosum, err := os.ReadFile(filepath.Join(m.dir, "go.sum"))
	if err != nil {
		return module{}, fmt.Errorf("tools module read: %w", err)
	}
	m.versions = required(string(gomod))
	goenv, err := goOutput(ctx, m.dir, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return module{}, err
	}
	cache, err := CacheDir()
	if err != nil {
		return module{}, err
	}
	sum := sha256.New()
	for _, part := range [][]byte{gomod, gosum, goenv, []byte(strings.Join(m.flags(), ""))} {
		_, _ = fmt.Fprintf(sum, "%d\n%s", len(part), part)
	}
	key := hex.EncodeToString(sum.Sum(nil))[:16]
	m.cache = filepath.Join(cache, "tools", name+"-"+key)
	return m, nil
}

// flags are what tells this module's builds from others: the linker's, then the
// compiler's. Other flags are other programs, so they are part of the cache's key.
func (m module) flags() []string {
	return append([]string{ldflags(m.name, m.versions)}, compileFlags(m.name)...)
}

// version is the version of a tool that the module builds, without its v.
func (m module) version(s spec) string { return strings.TrimPrefix(m.versions[s.source], "v") }

// required reads the module versions out of a go.mod. A requirement is a line
// `path version`, alone in a block or after the word require; replaced modules
// keep the version they are required at, which is what names the tool.
func required(gomod string) map[string]string {
	versions := map[string]string{}
	for line := range strings.Lines(gomod) {
		if strings.Contains(line, "=>") {
			continue
		}
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}
	return versions
}

// goCommand runs the go tool in dir, apart from any workspace file above it.
func goCommand(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("%w: go is not on PATH: install Go 1.26.6 or newer from https://go.dev/dl and add its bin folder to PATH", ErrMissingPrerequisite)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd, nil
}

func goOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd, err := goCommand(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(line))
}
