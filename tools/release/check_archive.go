package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"sigs.k8s.io/yaml"
)

// each runs a check on each archive. An archive that cannot be read is a fault of its own, of
// checkArchives alone.
func (m made) each(run func(found *faults, a packed, entries []entry)) faults {
	var found faults
	archives, err := m.config.packed(m.version)
	if err != nil {
		found.add(".goreleaser.yml", "%v", err)
	}
	for _, a := range archives {
		entries, err := unpack(m.path(a.name))
		if err != nil {
			found.add(a.name, "%v", err)
			continue
		}
		run(&found, a, entries)
	}
	return found
}

func (m made) checkArchives() faults {
	found := m.each(func(found *faults, a packed, entries []entry) {
		want := map[string]os.FileMode{a.program: 0o755, "LICENSE": 0o644}
		for _, e := range entries {
			mode, known := want[e.name]
			if !known {
				found.add(a.name, "has %s, and must have the program and LICENSE alone", e.name)
				continue
			}
			delete(want, e.name)
			if e.mode != mode {
				found.add(a.name, "%s has the mode %s, want %s", e.name, e.mode, mode)
			}
			if !e.modified.Equal(m.time) {
				found.add(a.name, "%s is of %s, and the commit of %s: another build gives another archive", e.name, e.modified.UTC(), m.time.UTC())
			}
			if e.owner != "" && e.owner != "root:root" {
				found.add(a.name, "%s belongs to %s, want root:root: another user's build gives another archive", e.name, e.owner)
			}
			if e.name == a.program {
				checkProgram(found, a, e)
			}
		}
		for name := range want {
			found.add(a.name, "lacks %s", name)
		}
	})
	return append(found, m.strangers()...)
}

// checkProgram looks at what a program says of its build.
func checkProgram(found *faults, a packed, e entry) {
	info, err := buildinfo.Read(bytes.NewReader(e.content))
	if err != nil {
		found.add(a.name, "%s is no program of Go: %v", e.name, err)
		return
	}
	for key, want := range map[string]string{"GOOS": a.platform.OS, "GOARCH": a.platform.Arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if got := setting(info, key); got != want {
			found.add(a.name, "%s was built with %s=%s, want %s", e.name, key, got, want)
		}
	}
}

// strangers are archives that the configuration does not know of.
func (m made) strangers() faults {
	var found faults
	archives, err := m.config.packed(m.version)
	if err != nil {
		found.add(".goreleaser.yml", "%v", err)
		return found
	}
	for _, pattern := range []string{"*.zip", "*.tar.gz"} {
		paths, err := filepath.Glob(m.path(pattern))
		if err != nil {
			found.add(pattern, "%v", err)
		}
		for _, path := range paths {
			name := filepath.Base(path)
			if !slices.ContainsFunc(archives, func(a packed) bool { return a.name == name }) {
				found.add(name, "is no archive of the release")
			}
		}
	}
	return found
}

// checkPins looks for texts that only the linker has put there: it says nothing where a
// variable is not.
func (m made) checkPins() faults {
	return m.each(func(found *faults, a packed, entries []entry) {
		program, _, err := programOf(entries)
		if err != nil {
			found.add(a.name, "%v", err)
			return
		}
		if !bytes.Contains(program.content, []byte(m.version)) {
			found.add(a.name, "%s does not have its version %s", program.name, m.version)
		}
		if a.build == "provider" && !bytes.Contains(program.content, []byte(m.digest)) {
			found.add(a.name, "%s does not have the digest of the daemon's image %s", program.name, m.digest)
		}
	})
}

func (m made) checkBills() faults {
	return m.each(func(found *faults, a packed, entries []entry) {
		program, info, err := programOf(entries)
		if err != nil {
			found.add(a.name, "%v", err)
			return
		}
		name := billName(a.name)
		text, err := os.ReadFile(m.path(name))
		if err != nil {
			found.add(name, "%v", err)
			return
		}
		var bill cyclonedx.BOM
		if err := json.Unmarshal(text, &bill); err != nil {
			found.add(name, "%v", err)
			return
		}
		if bill.Metadata == nil || bill.Metadata.Component == nil || bill.Metadata.Component.Name != program.name || bill.Metadata.Component.Version != m.version {
			found.add(name, "is not of %s %s", program.name, m.version)
		}
		listed := map[string]bool{}
		if bill.Components != nil {
			for _, c := range *bill.Components {
				listed[c.Name+"@"+c.Version] = true
			}
		}
		for _, module := range modules(info) {
			if !listed[module.Path+"@"+module.Version] {
				found.add(name, "lacks %s@%s, which is in the program", module.Path, module.Version)
			}
		}
	})
}

func (m made) checkManifest() faults {
	const file = "terraform-registry-manifest.json"
	var found faults
	text, err := os.ReadFile(filepath.Join(m.root, file))
	if err != nil {
		found.add(file, "%v", err)
		return found
	}
	var manifest struct {
		Version  int `json:"version"`
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		found.add(file, "%v", err)
		return found
	}
	if manifest.Version != 1 || !slices.Equal(manifest.Metadata.Protocols, []string{"6.0"}) {
		found.add(file, "has version %d and the protocols %v, want 1 and 6.0", manifest.Version, manifest.Metadata.Protocols)
	}
	return found
}

// checkChart looks into the package of the chart.
func (m made) checkChart() faults {
	var found faults
	name, err := chartName(m.root)
	if err != nil {
		found.add(chartSource, "%v", err)
	}
	if name == "" {
		return found
	}
	file := name + "-" + m.version + ".tgz"
	entries, err := unpack(filepath.Join(m.root, chartFolder, file))
	if err != nil {
		found.add(file, "%v", err)
		return found
	}
	at := slices.IndexFunc(entries, func(e entry) bool { return strings.HasSuffix(e.name, "/Chart.yaml") && strings.Count(e.name, "/") == 1 })
	if at < 0 {
		found.add(file, "lacks Chart.yaml")
		return found
	}
	var chart struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(entries[at].content, &chart); err != nil || chart.Version != m.version || chart.AppVersion != m.version {
		found.add(file, "has version %q and appVersion %q (%v), want %s", chart.Version, chart.AppVersion, err, m.version)
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return bytes.Contains(e.content, []byte("@"+m.digest)) }) {
		found.add(file, "does not name the image %s", m.digest)
	}
	return found
}
