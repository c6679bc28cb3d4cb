package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// made is a release that was made, and what it must be.
type made struct {
	root     string // the checkout
	dist     string // the folder that GoReleaser has filled
	config   config
	version  string
	commit   string
	time     time.Time // of the commit
	digest   string    // of the daemon's image
	signedBy openpgp.EntityList
}

// fault is what is wrong with a file of a release.
type fault struct{ file, what string }

func (f fault) String() string { return f.file + ": " + f.what }

// faults collects them.
type faults []fault

func (f *faults) add(file, format string, args ...any) {
	*f = append(*f, fault{file, fmt.Sprintf(format, args...)})
}

// check is one thing that must be right with a release.
type check struct {
	what string
	run  func(made) faults
}

func checks() []check {
	return []check{
		{"the archives have the names, programs, modes and times that they must have", made.checkArchives},
		{"the provider names the daemon's image, and each program its version", made.checkPins},
		{"each archive has a bill of material that lists its modules", made.checkBills},
		{"the checksums are right, and cover every file", made.checkSums},
		{"the signature of the checksums is one that the registries read", made.checkSignature},
		{"the statement of provenance is about the files of the checksums", made.checkProvenance},
		{"the registry's manifest says protocol 6.0", made.checkManifest},
		{"krew finds the command line for each platform", made.checkKrew},
		{"the chart has the version and names the image, where there is a chart", made.checkChart},
		{"what is released beside GoReleaser's own files is there", made.checkExtraFiles},
	}
}

func (m made) path(name string) string { return filepath.Join(m.dist, name) }

// sumsName is the file with the checksums.
func (m made) sumsName() string { return m.config.ProjectName + "_" + m.version + "_SHA256SUMS" }

func (m made) provenanceName() string {
	return m.config.ProjectName + "_" + m.version + "_provenance.intoto.json"
}

func (m made) manifestName() string {
	return m.config.ProjectName + "_" + m.version + "_manifest.json"
}

func billName(archive string) string { return archive + ".cdx.json" }

// covered lists what the checksums must have, with where it is.
func (m made) covered() (map[string]string, error) {
	archives, err := m.config.packed(m.version)
	if err != nil {
		return nil, err
	}
	all := map[string]string{m.manifestName(): filepath.Join(m.root, "terraform-registry-manifest.json")}
	for _, a := range archives {
		all[a.name] = m.path(a.name)
		all[billName(a.name)] = m.path(billName(a.name))
	}
	chart, err := chartName(m.root)
	if err != nil {
		return nil, err
	}
	if chart != "" {
		name := chart + "-" + m.version + ".tgz"
		all[name] = filepath.Join(m.root, chartFolder, name)
	}
	return all, nil
}

func (m made) checkSums() faults {
	var found faults
	want, err := m.covered()
	if err != nil {
		found.add(".goreleaser.yml", "%v", err)
		return found
	}
	lines, err := readSums(m.path(m.sumsName()))
	if err != nil {
		found.add(m.sumsName(), "%v", err)
		return found
	}
	listed := map[string]bool{}
	for _, line := range lines {
		path, known := want[line.name]
		switch {
		case listed[line.name]:
			found.add(m.sumsName(), "lists %s twice", line.name)
		case !known:
			found.add(m.sumsName(), "lists %s, which is no file of the release", line.name)
		default:
			if sum, err := sumOf(path); err != nil || sum != line.sha256 {
				found.add(m.sumsName(), "has %s for %s, which has %s (%v)", line.sha256, line.name, sum, err)
			}
		}
		listed[line.name] = true
	}
	for name := range want {
		if !listed[name] {
			found.add(m.sumsName(), "lacks %s", name)
		}
	}
	return found
}

// The registries read binary signatures alone.
func (m made) checkSignature() faults {
	var found faults
	name := m.sumsName() + ".sig"
	signature, err := os.Open(m.path(name))
	if err != nil {
		found.add(name, "%v", err)
		return found
	}
	defer func() { _ = signature.Close() }()
	signed, err := os.Open(m.path(m.sumsName()))
	if err != nil {
		found.add(m.sumsName(), "%v", err)
		return found
	}
	defer func() { _ = signed.Close() }()
	if _, err := openpgp.CheckDetachedSignature(m.signedBy, signed, signature, nil); err != nil {
		found.add(name, "is no binary signature of %s: %v", m.sumsName(), err)
	}
	return found
}

// checkExtraFiles looks for the files that only a release that is published would miss.
func (m made) checkExtraFiles() faults {
	var found faults
	chart, err := chartName(m.root)
	if err != nil {
		found.add(chartSource, "%v", err)
	}
	for _, extra := range slices.Concat(m.config.Checksum.ExtraFiles, m.config.Release.ExtraFiles) {
		files, err := filepath.Glob(filepath.Join(m.root, extra.Glob))
		optional := filepath.Dir(extra.Glob) == chartFolder && chart == ""
		if err != nil || len(files) != 1 && !optional {
			found.add(".goreleaser.yml", "%s names %d files (%v), and one is to be released", extra.Glob, len(files), err)
		}
	}
	return found
}
