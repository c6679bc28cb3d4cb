package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	goversion "go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	env      []string          // what the go command needs to be new enough for it
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
	goenv, err := m.choose(ctx, string(gomod))
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

// choose settles which Go builds the module, and returns what decides its programs: Go's
// version and the platform.
func (m *module) choose(ctx context.Context, gomod string) ([]byte, error) {
	about := func() ([]byte, error) { return goOutput(ctx, m.dir, m.env, "env", "GOVERSION", "GOOS", "GOARCH") }
	goenv, err := about()
	if err != nil {
		return nil, err
	}
	if m.env = newerGo(gomod, firstLine(goenv)); m.env == nil {
		return goenv, nil
	}
	return about()
}

// newerGo is what has the go command fetch the Go that a module asks for, where the one that
// is here is older: it does so by itself, unless GOTOOLCHAIN forbids that.
func newerGo(gomod, here string) []string {
	here, _, _ = strings.Cut(here, " ") // experiments follow
	for line := range strings.Lines(gomod) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "go" || !goversion.IsValid(here) || goversion.Compare(here, "go"+words[1]) >= 0 {
			continue
		}
		if strings.Count(words[1], ".") == 1 {
			words[1] += ".0" // the first release of a language version
		}
		return []string{"GOTOOLCHAIN=go" + words[1]}
	}
	return nil
}

// Source returns the folder of the module cache that a tool is built from, and its version. What
// is not there is downloaded.
func Source(ctx context.Context, t Tool) (dir, version string, err error) {
	s, ok := specs()[t]
	if !ok {
		return "", "", fmt.Errorf("tool find: %w: %q (known: %s)", ErrUnknownTool, t, known())
	}
	m, err := loadModule(ctx, s.module)
	if err != nil {
		return "", "", err
	}
	out, err := goOutput(ctx, m.dir, m.env, "mod", "download", "-json", s.source)
	if err != nil {
		return "", "", err
	}
	var found struct{ Dir, Version string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", "", fmt.Errorf("go mod download: answer read: %w", err)
	}
	return found.Dir, found.Version, nil
}

// flags are what tells this module's builds from others: the linker's, then the
// compiler's. Other flags are other programs, so they are part of the cache's key.
func (m module) flags() []string {
	return append([]string{ldflags(m.name, m.versions)}, compileFlags()...)
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

// goCommand runs the go tool in dir, apart from any workspace file above it, with env beside
// what the environment has.
func goCommand(ctx context.Context, dir string, env []string, args ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("%w: go is not on PATH: install Go 1.26.6 or newer from https://go.dev/dl and add its bin folder to PATH", ErrMissingPrerequisite)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GOWORK=off"}, env)
	return cmd, nil
}

func goOutput(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd, err := goCommand(ctx, dir, env, args...)
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
