package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Need is what a command runs: tools, and programs of this checkout, named by their
// packages relative to the top of it (as ./daemon/cmd/karpenterd; the provider is ".").
type Need struct {
	Tools    []Tool
	Programs []string
}

// Ready is what a command asked for, ready to run.
type Ready struct {
	Tools    map[Tool]Found
	Programs map[string]string // paths, by package
}

// The programs of this checkout that the laboratory runs.
const (
	Daemon   = "./daemon/cmd/karpenterd"
	Provider = "."
	Lab      = "./internal/lab/cmd/lab"
)

// LabNeeds is what the laboratory needs to show itself to people: the control plane,
// the product, and something that plays its configuration.
func LabNeeds() Need {
	return Need{
		Tools:    []Tool{Etcd, APIServer, ControllerManager, Scheduler, Kwok, TerraformCLI},
		Programs: []string{Daemon, Provider},
	}
}

// With adds programs to what is needed.
func (n Need) With(programs ...string) Need {
	n.Programs = slices.Concat(n.Programs, programs)
	return n
}

// Prepare returns everything asked for, ready to run. Tools that are neither found nor
// cached are downloaded where their projects publish them and can be reached, and built
// otherwise (LAB_BINARIES decides differently); programs of this checkout are built from
// what it holds now. All of that happens side by side, the longest first. w gets the
// progress (os.Stderr in a command). The error says what to do when something cannot
// be had.
func Prepare(ctx context.Context, w io.Writer, need Need) (Ready, error) {
	s, err := newSurvey()
	if err != nil {
		return Ready{}, err
	}
	if err := s.look(ctx, w, need.Tools); err != nil {
		return Ready{}, err
	}
	if len(need.Programs) > 0 {
		if s.root, err = Root(); err != nil {
			return Ready{}, err
		}
		if s.ready.Programs, err = ownPaths(s.root, need.Programs); err != nil {
			return Ready{}, err
		}
	}
	if err := s.fill(ctx, w); err != nil {
		return Ready{}, err
	}
	return s.ready, nil
}

// survey is what is asked for, what of it is there, and what is to be made.
type survey struct {
	choice   binaries
	mirror   string
	releases []official
	platform string
	cache    string

	mu      sync.Mutex // for ready, as long as something is made
	ready   Ready
	root    string
	modules map[string]*absent // by module
}

func newSurvey() (*survey, error) {
	s := &survey{
		releases: officials(), platform: platform(), modules: map[string]*absent{},
		ready: Ready{Tools: map[Tool]Found{}, Programs: map[string]string{}},
	}
	var err error
	if s.choice, s.mirror, err = chosen(); err != nil {
		return nil, err
	}
	s.cache, err = CacheDir()
	return s, err
}

// absent are the tools of one module that are to be made.
type absent struct {
	module   module
	build    []Tool
	download []download
}

// download is a release to be downloaded, and the tools that it is for.
type download struct {
	official
	tools []Tool
}

// look finds the tools that are there, and notes what is to be done for the others.
func (s *survey) look(ctx context.Context, w io.Writer, tools []Tool) error {
	for _, t := range tools {
		wanted, ok := specs()[t]
		if !ok {
			return fmt.Errorf("tool find: %w: %q (known: %s)", ErrUnknownTool, t, known())
		}
		if _, done := s.ready.Tools[t]; done {
			continue
		}
		if f, ok := find(ctx, w, wanted); ok {
			s.ready.Tools[t] = f
			continue
		}
		// What is never found has one source, whatever is chosen.
		if s.choice == pathOnly && len(wanted.found) > 0 {
			return fmt.Errorf("%s: %w: %s=path takes it from KUBEBUILDER_ASSETS and PATH alone: install it (%s), or unset %[3]s", t, ErrNotHere, envBinaries, wanted.found[0].wants())
		}
		if err := s.take(ctx, t, wanted); err != nil {
			return err
		}
	}
	return nil
}

// take takes a tool from the caches, or notes how it is to be made.
func (s *survey) take(ctx context.Context, t Tool, wanted spec) error {
	a := s.modules[wanted.module]
	if a == nil {
		m, err := loadModule(ctx, wanted.module)
		if err != nil {
			return err
		}
		a = &absent{module: m}
		s.modules[wanted.module] = a
	}
	if path, ok := a.module.cached(wanted); ok {
		s.ready.Tools[t] = Found{Path: path, Version: a.module.version(wanted), Origin: FromCache}
		return nil
	}
	o, published := officialOf(s.releases, t, s.platform)
	if !published || s.choice == buildOnly {
		if s.choice == downloadOnly && len(wanted.found) > 0 {
			return fmt.Errorf("%s: %w: %s=download, and no download of it is known for %s: install it, or unset %[3]s to build it", t, ErrNotHere, envBinaries, s.platform)
		}
		a.build = append(a.build, t)
		return nil
	}
	if path, ok := kept(o.folder(s.cache, s.platform), wanted); ok {
		s.ready.Tools[t] = Found{Path: path, Version: o.version, Origin: FromCache}
		return nil
	}
	for i := range a.download {
		if a.download[i].address == o.address {
			a.download[i].tools = append(a.download[i].tools, t)
			return nil
		}
	}
	a.download = append(a.download, download{official: o, tools: []Tool{t}})
	return nil
}

// Ensure returns every tool asked for, ready to run, as Prepare does.
func Ensure(ctx context.Context, w io.Writer, tools ...Tool) (map[Tool]Found, error) {
	ready, err := Prepare(ctx, w, Need{Tools: tools})
	return ready.Tools, err
}

// Self builds one of our own programs into the user's cache and returns its path.
func Self(ctx context.Context, w io.Writer, pkg string) (string, error) {
	ready, err := Prepare(ctx, w, Need{Programs: []string{pkg}})
	return ready.Programs[pkg], err
}

// Linked builds one of our own programs as Self does, with these flags of the linker instead.
// What is linked in different ways is kept apart: nothing is linked again as long as nothing
// has changed.
func Linked(ctx context.Context, w io.Writer, pkg, flags string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	paths, err := ownPaths(root, []string{pkg})
	if err != nil {
		return "", err
	}
	way := sha256.Sum256([]byte(flags))
	dir, name := filepath.Split(paths[pkg])
	paths[pkg] = filepath.Join(dir, "linked-"+hex.EncodeToString(way[:8]), name)
	p := startProgress(w)
	err = buildOwn(ctx, p, 1, root, flags, paths)
	p.end(err)
	return paths[pkg], err
}

func known() string {
	names := make([]string, 0, len(specs()))
	for _, t := range Tools() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}
