package toolchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain/fetch"
)

// A download that is slower than this takes as long as a build of the same.
const (
	slowest    = 10 << 20 // bytes in a window
	slowWindow = 10 * time.Second
)

// job is one go build: of the tools of a module, or of our own programs.
type job struct {
	takes  int                                                    // seconds of processor time, roughly
	before func(ctx context.Context, p *progress) error           // what may spare the build
	build  func(ctx context.Context, p *progress, jobs int) error // nothing if all is there
}

// fill makes what is to be made. The first failure ends the rest.
func (s *survey) fill(ctx context.Context, w io.Writer) error {
	jobs := s.jobs()
	if len(jobs) == 0 {
		return nil
	}
	p := startProgress(w)
	group, ctx := errgroup.WithContext(ctx)
	builds := make(chan struct{}, maxBuilds)
	build := func(j job) error {
		defer func() { <-builds }()
		return j.build(ctx, p, len(jobs))
	}
	for _, j := range jobs {
		if j.before != nil {
			group.Go(func() error {
				if err := j.before(ctx, p); err != nil {
					return err
				}
				builds <- struct{}{}
				return build(j)
			})
		}
	}
	for _, j := range jobs {
		if j.before == nil {
			builds <- struct{}{} // here, so that the longest is first
			group.Go(func() error { return build(j) })
		}
	}
	err := group.Wait()
	p.end(err)
	return err
}

// jobs are all go builds, the longest first: a short one fills what a long one leaves.
// Downloads begin before any build.
func (s *survey) jobs() []job {
	var jobs []job
	if len(s.ready.Programs) > 0 {
		jobs = append(jobs, job{takes: 500, build: func(ctx context.Context, p *progress, jobs int) error {
			return buildOwn(ctx, p, jobs, s.root, noDebugData, s.ready.Programs)
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(s.modules)) {
		a := s.modules[name]
		if len(a.build) == 0 && len(a.download) == 0 {
			continue
		}
		j := job{takes: 150 * len(a.build), build: func(ctx context.Context, p *progress, jobs int) error {
			return s.build(ctx, p, jobs, a)
		}}
		if name == "tofu" {
			j.takes = 600
		}
		if len(a.download) > 0 {
			j.before = func(ctx context.Context, p *progress) error { return s.download(ctx, p, a) }
		}
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.takes, a.takes) })
	return jobs
}

// build builds what is absent of a module.
func (s *survey) build(ctx context.Context, p *progress, jobs int, a *absent) error {
	if len(a.build) == 0 {
		return nil
	}
	var missing []spec
	for _, t := range a.build {
		wanted := specs()[t]
		missing = append(missing, wanted)
		s.found(t, Found{Path: filepath.Join(a.module.cache, wanted.executable()), Version: a.module.version(wanted), Origin: FromBuild})
	}
	return a.module.build(ctx, p, jobs, missing)
}

// found notes where a tool is, or will be.
func (s *survey) found(t Tool, f Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready.Tools[t] = f
}

// download downloads what is absent of a module. What cannot be had is left to the
// build, without a word: on a machine without a way out that is as it should be.
func (s *survey) download(ctx context.Context, p *progress, a *absent) error {
	group, ctx := errgroup.WithContext(ctx)
	failed := make([]error, len(a.download))
	for i, d := range a.download {
		group.Go(func() error {
			failed[i] = s.get(ctx, p, d)
			if errors.Is(failed[i], fetch.ErrUnavailable) && s.choice == anyWay && ctx.Err() == nil {
				return nil
			}
			return failed[i]
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, d := range a.download {
		if failed[i] != nil {
			a.build = append(a.build, d.tools...)
			continue
		}
		folder := d.folder(s.cache, s.platform)
		for _, t := range d.tools {
			s.found(t, Found{Path: filepath.Join(folder, specs()[t].executable()), Version: d.version, Origin: FromSite})
		}
	}
	return nil
}

// get downloads one release into its folder.
func (s *survey) get(ctx context.Context, p *progress, d download) error {
	folder := d.folder(s.cache, s.platform)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("tool cache make: %w", err)
	}
	unlock, err := lock(ctx, p, filepath.Join(folder, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := kept(folder, specs()[d.tools[0]]); ok {
		return nil // another process has done it
	}
	client := fetch.Client{Slowest: slowest, Window: slowWindow}
	if s.choice == downloadOnly { // nothing else would be faster
		client = fetch.Client{Slowest: 1, Window: 3 * slowWindow}
	}
	report := p.part()
	err = client.Get(ctx, d.file(s.platform, s.mirror), folder, func(got, size int64) {
		report.fetched(d.name(s.platform), got, size)
	})
	switch {
	case err == nil:
		_, _ = fmt.Fprintf(p, "%s: downloaded; kept in %s\n", d.name(s.platform), folder)
	case errors.Is(err, fetch.ErrUnavailable):
		report.dropped()
		if s.choice == downloadOnly {
			return fmt.Errorf("%s=download: %w: see that this machine reaches it, name a mirror in %s, or unset %[1]s to build what cannot be had", envBinaries, err, envMirror)
		}
	}
	return err
}
