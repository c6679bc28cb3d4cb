package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// product is the name of the main module, and so of what a bill is of.
const product = "github.com/karpenterd/terraform-provider-karpenter"

// writeBill writes the bill of material of the program in the archive.
func writeBill(archive, version, out string) error {
	entries, err := unpack(archive)
	if err != nil {
		return err
	}
	program, info, err := programOf(entries)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	var text bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	if err := encoder.EncodeVersion(billOf(program.name, version, info), cyclonedx.SpecVersion1_6); err != nil {
		return fmt.Errorf("bill of material write: %w", err)
	}
	if err := os.WriteFile(out, text.Bytes(), 0o644); err != nil { //nolint:gosec // it is published
		return fmt.Errorf("bill of material write: %w", err)
	}
	return nil
}

// billOf lists the modules that are linked into the program. It has no date and no serial
// number: one program has one bill.
func billOf(program, version string, info *buildinfo.BuildInfo) *cyclonedx.BOM {
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		BOMRef: purl(product, version), Type: cyclonedx.ComponentTypeApplication, Name: filepath.Base(program), Version: version, PackageURL: purl(product, version),
		Properties: &[]cyclonedx.Property{
			{Name: "go:os", Value: setting(info, "GOOS")}, {Name: "go:arch", Value: setting(info, "GOARCH")},
		},
	}}
	components := []cyclonedx.Component{{
		BOMRef: purl("std", strings.TrimPrefix(info.GoVersion, "go")), Type: cyclonedx.ComponentTypeLibrary, Name: "std",
		Version: strings.TrimPrefix(info.GoVersion, "go"), PackageURL: purl("std", strings.TrimPrefix(info.GoVersion, "go")),
	}}
	for _, m := range modules(info) {
		c := cyclonedx.Component{
			BOMRef: purl(m.Path, m.Version), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version),
			Scope: cyclonedx.ScopeRequired,
		}
		// The sum of go.sum is of the module's files, by their names and contents.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
	}
	bill.Components = &components
	return bill
}

// modules are the modules of the program, replacements in the place of what they replace.
func modules(info *buildinfo.BuildInfo) []*debug.Module {
	all := make([]*debug.Module, 0, len(info.Deps))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, m)
	}
	return all
}

// purl is the package URL of a Go module.
func purl(module, version string) string { return "pkg:golang/" + module + "@" + version }
