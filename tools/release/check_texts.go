package main

import (
	"maps"
	"os"
	"slices"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"
)

// checkProvenance reads the statement as somebody who verifies it does.
func (m made) checkProvenance() faults {
	var found faults
	name := m.provenanceName()
	text, err := os.ReadFile(m.path(name))
	if err != nil {
		found.add(name, "%v", err)
		return found
	}
	var statement intoto.Statement
	if err := protojson.Unmarshal(text, &statement); err != nil {
		found.add(name, "%v", err)
		return found
	}
	if err := statement.Validate(); err != nil {
		found.add(name, "is no statement: %v", err)
		return found
	}
	m.checkSubjects(&found, &statement)
	var origin slsa.Provenance
	inner, err := statement.GetPredicate().MarshalJSON()
	if err == nil {
		err = protojson.Unmarshal(inner, &origin)
	}
	if err == nil {
		err = origin.Validate()
	}
	if err != nil || statement.GetPredicateType() != predicateType {
		found.add(name, "is a statement of the type %s, which is no provenance of SLSA 1: %v", statement.GetPredicateType(), err)
		return found
	}
	digests := map[string]string{}
	for _, d := range origin.GetBuildDefinition().GetResolvedDependencies() {
		maps.Copy(digests, d.GetDigest())
	}
	if digests["gitCommit"] != m.commit {
		found.add(name, "says that the commit is %q, and it is %s", digests["gitCommit"], m.commit)
	}
	if digests["sha256"] != trimAlgorithm(m.digest) {
		found.add(name, "says that the image is %q, and it is %s", digests["sha256"], m.digest)
	}
	return found
}

// checkSubjects compares the statement's files with those of the checksums.
func (m made) checkSubjects(found *faults, statement *intoto.Statement) {
	name := m.provenanceName()
	lines, err := readSums(m.path(m.sumsName()))
	if err != nil {
		found.add(m.sumsName(), "%v", err)
		return
	}
	said := map[string]string{}
	for _, s := range statement.GetSubject() {
		said[s.GetName()] = s.GetDigest()["sha256"]
	}
	for _, line := range lines {
		if said[line.name] != line.sha256 {
			found.add(name, "has %q for %s, and the checksums have %s", said[line.name], line.name, line.sha256)
		}
		delete(said, line.name)
	}
	for _, other := range slices.Sorted(maps.Keys(said)) {
		found.add(name, "is about %s, which the checksums lack", other)
	}
}

// krewManifest is the manifest of a plugin of kubectl, as far as it is checked here. krew's own
// program checks its form.
type krewManifest struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version   string `json:"version"`
		Platforms []struct {
			Bin      string `json:"bin"`
			URI      string `json:"uri"`
			SHA256   string `json:"sha256"`
			Selector struct {
				Labels struct {
					OS   string `json:"os"`
					Arch string `json:"arch"`
				} `json:"matchLabels"`
			} `json:"selector"`
		} `json:"platforms"`
	} `json:"spec"`
}

// plugin is the name of the plugin: kubectl karpenter.
const plugin = "karpenter"

// krewFile is where GoReleaser writes the manifest, in its folder.
const krewFile = "krew/" + plugin + ".yaml"

func (m made) checkKrew() faults {
	var found faults
	text, err := os.ReadFile(m.path(krewFile))
	if err != nil {
		found.add(krewFile, "%v", err)
		return found
	}
	var manifest krewManifest
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		found.add(krewFile, "%v", err)
		return found
	}
	if manifest.Metadata.Name != plugin || manifest.Spec.Version != "v"+m.version {
		found.add(krewFile, "is of %s %s, want %s v%s", manifest.Metadata.Name, manifest.Spec.Version, plugin, m.version)
	}
	archives, err := m.config.packed(m.version)
	if err != nil {
		found.add(".goreleaser.yml", "%v", err)
	}
	want := map[platform]packed{}
	for _, a := range archives {
		if a.build == "daemon" {
			want[a.platform] = a
		}
	}
	for _, p := range manifest.Spec.Platforms {
		on := platform{p.Selector.Labels.OS, p.Selector.Labels.Arch}
		a, known := want[on]
		if !known {
			found.add(krewFile, "has %s, which it must not have, or twice", on)
			continue
		}
		delete(want, on)
		if uri := repository + "/releases/download/" + m.tag() + "/" + a.name; p.URI != uri {
			found.add(krewFile, "has %s for %s, want %s", p.URI, on, uri)
		}
		if sum, err := sumOf(m.path(a.name)); err != nil || sum != p.SHA256 {
			found.add(krewFile, "has %s for %s, which has %s (%v)", p.SHA256, a.name, sum, err)
		}
		if p.Bin != a.program {
			found.add(krewFile, "starts %q of %s, which has %s", p.Bin, a.name, a.program)
		}
	}
	for on := range want {
		found.add(krewFile, "lacks %s", on)
	}
	return found
}

// tag is the tag of the release, as it is part of addresses.
func (m made) tag() string { return "v" + m.version }
