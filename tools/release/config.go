package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// config is the part of .goreleaser.yml that is checked.
type config struct {
	ProjectName string    `json:"project_name"`
	Builds      []build   `json:"builds"`
	Archives    []archive `json:"archives"`
	Checksum    struct {
		NameTemplate string      `json:"name_template"`
		ExtraFiles   []extraFile `json:"extra_files"`
	} `json:"checksum"`
	Release struct {
		ExtraFiles []extraFile `json:"extra_files"`
	} `json:"release"`
}

type build struct {
	ID     string     `json:"id"`
	Binary string     `json:"binary"`
	Goos   []string   `json:"goos"`
	Goarch []string   `json:"goarch"`
	Ignore []platform `json:"ignore"`
}

type archive struct {
	ID           string   `json:"id"`
	Builds       []string `json:"ids"`
	Formats      []string `json:"formats"`
	NameTemplate string   `json:"name_template"`
	Overrides    []struct {
		Goos    string   `json:"goos"`
		Formats []string `json:"formats"`
	} `json:"format_overrides"`
}

type extraFile struct {
	Glob         string `json:"glob"`
	NameTemplate string `json:"name_template"`
}

// platform is what a program runs on.
type platform struct {
	OS   string `json:"goos"`
	Arch string `json:"goarch"`
}

func (p platform) String() string { return p.OS + "/" + p.Arch }

// errTargets means that the platforms asked for are not those of a release.
var errTargets = errors.New("wrong targets")

func readConfig(text []byte) (config, error) {
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf(".goreleaser.yml read: %w", err)
	}
	return c, nil
}

// platforms are what a build is for.
func (b build) platforms() []platform {
	var all []platform
	for _, system := range b.Goos {
		for _, arch := range b.Goarch {
			if p := (platform{system, arch}); !slices.Contains(b.Ignore, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// narrowed returns the configuration for some of the platforms, as text for GoReleaser.
func narrowed(text []byte, targets []string) ([]byte, error) {
	if len(targets) == 0 {
		return text, nil
	}
	c, err := readConfig(text)
	if err != nil {
		return nil, err
	}
	var whole map[string]any
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf(".goreleaser.yml read: %w", err)
	}
	builds, _ := whole["builds"].([]any)
	found := map[string]bool{}
	for i, b := range c.Builds {
		var skipped []any
		systems, architectures := map[string]bool{}, map[string]bool{}
		for _, p := range b.platforms() {
			if slices.Contains(targets, p.String()) {
				found[p.String()], systems[p.OS], architectures[p.Arch] = true, true, true
			}
		}
		if len(systems) == 0 {
			return nil, fmt.Errorf("%w: none of %v is a platform of the build %s: add one of %v", errTargets, targets, b.ID, b.platforms())
		}
		for _, system := range slices.Sorted(maps.Keys(systems)) {
			for _, arch := range slices.Sorted(maps.Keys(architectures)) {
				if p := (platform{system, arch}); !slices.Contains(targets, p.String()) || slices.Contains(b.Ignore, p) {
					skipped = append(skipped, map[string]any{"goos": system, "goarch": arch})
				}
			}
		}
		one, _ := builds[i].(map[string]any)
		one["goos"], one["goarch"], one["ignore"] = slices.Sorted(maps.Keys(systems)), slices.Sorted(maps.Keys(architectures)), skipped
	}
	for _, t := range targets {
		if !found[t] {
			return nil, fmt.Errorf("%w: %s is no platform of a release", errTargets, t)
		}
	}
	out, err := yaml.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("configuration write: %w", err)
	}
	return out, nil
}

// expand fills in a template of the configuration.
func (c config) expand(text, version string, p platform) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf(".goreleaser.yml: %q: %w", text, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, map[string]string{"ProjectName": c.ProjectName, "Version": version, "Os": p.OS, "Arch": p.Arch}); err != nil {
		return "", fmt.Errorf(".goreleaser.yml: %q: %w", text, err)
	}
	return out.String(), nil
}

// packed is an archive that the release must have.
type packed struct {
	build    string // id
	name     string // file
	program  string // name of the program in it
	platform platform
}

// packed lists the archives of a version.
func (c config) packed(version string) ([]packed, error) {
	var all []packed
	for _, a := range c.Archives {
		for _, b := range c.Builds {
			if !slices.Contains(a.Builds, b.ID) {
				continue
			}
			for _, p := range b.platforms() {
				name, err := c.expand(a.NameTemplate, version, p)
				if err != nil {
					return nil, err
				}
				program, err := c.expand(b.Binary, version, p)
				if err != nil {
					return nil, err
				}
				if p.OS == "windows" {
					program += ".exe"
				}
				all = append(all, packed{b.ID, name + "." + a.format(p.OS), program, p})
			}
		}
	}
	return all, nil
}

// format is the form of the archive for an operating system.
func (a archive) format(system string) string {
	for _, o := range a.Overrides {
		if o.Goos == system {
			return strings.Join(o.Formats, "+")
		}
	}
	return strings.Join(a.Formats, "+")
}

// read reads the configuration of the checkout.
func read(root string) (text []byte, c config, err error) {
	if text, err = os.ReadFile(root + "/.goreleaser.yml"); err != nil {
		return nil, c, fmt.Errorf(".goreleaser.yml read: %w", err)
	}
	c, err = readConfig(text)
	return text, c, err
}
