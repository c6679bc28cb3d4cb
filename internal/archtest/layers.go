package archtest

import (
	"cmp"
	"slices"
	"strings"
)

// layer is a set of packages that follow one import rule.
type layer struct {
	name  string
	roots []string // folders; the longest that fits decides
	// mayImport names the layers below. A layer may always import itself.
	mayImport []string
	// outside lists the prefixes of third-party packages allowed. nil: any; empty: the standard library only.
	outside []string
}

// testsOnly is the layer that tests of all layers may import, and nothing else may.
const testsOnly = "tests only"

// layers is the picture in ARCHITECTURE.md, arrows downwards only. Being
// direct rules they hold transitively.
func layers() []layer {
	standardLibraryOnly := []string{}
	belowShells := []string{"kube", "aws", "install", "legacy", "drift", "translate", "family", "awsspec", "api", "embedded", "sim", "engine", "words"}
	return []layer{
		{name: "words", outside: standardLibraryOnly, roots: []string{"internal/quantity", "internal/label", "internal/cluster", "internal/catalog", "internal/plan", "internal/pick"}},
		{name: "engine", outside: standardLibraryOnly, roots: []string{"internal/engine"}, mayImport: []string{"words"}},
		// The checker of certificates shares nothing with the engine that it checks.
		{name: "proof", outside: standardLibraryOnly, roots: []string{"internal/proof"}, mayImport: []string{"words"}},
		{name: "sim", outside: standardLibraryOnly, roots: []string{"internal/sim"}, mayImport: []string{"engine", "words"}},
		{name: "embedded", outside: standardLibraryOnly, roots: []string{"internal/catalog/embedded"}, mayImport: []string{"words"}},
		{name: "api", outside: []string{"k8s.io/api/", "k8s.io/apimachinery/", "github.com/robfig/cron/"}, roots: []string{"internal/api"}, mayImport: []string{"words"}},
		// Checks of the CRDs, for the tests of the api packages: product code imports none of it.
		{name: "apitest", roots: []string{"internal/api/crdtest"}, mayImport: []string{"api"}},
		// Fills objects for tests of what is kept of them: product code imports none of it.
		{name: "filltest", roots: []string{"internal/translate/filltest"}, mayImport: []string{"api", "words"}},
		// Expressions of EC2NodeClasses: texts in, numbers out.
		{name: "kubeletcel", outside: []string{"github.com/google/cel-go/"}, roots: []string{"internal/kubeletcel"}},
		{name: "translate", roots: []string{"internal/translate"}, mayImport: []string{"kubeletcel", "family", "awsspec", "api", "words"}},
		// Texts in, texts out: conversion of older APIs.
		{name: "legacy", outside: []string{"github.com/hashicorp/hcl/", "github.com/zclconf/go-cty/", "k8s.io/apimachinery/", "sigs.k8s.io/yaml"}, roots: []string{"internal/legacy"}, mayImport: []string{"family", "awsspec", "api", "words"}},
		{name: "drift", outside: []string{"k8s.io/apimachinery/"}, roots: []string{"internal/drift"}, mayImport: []string{"translate", "family", "awsspec", "api", "words"}},
		{name: "awsspec", outside: standardLibraryOnly, roots: []string{"internal/awsspec"}, mayImport: []string{"api", "words"}},
		{name: "family", outside: []string{"github.com/pelletier/go-toml/", "k8s.io/apimachinery/pkg/util/intstr"}, roots: []string{"internal/family"}, mayImport: []string{"awsspec", "api", "words"}},
		// Reads user data for tests: product code imports none of it.
		{name: "familytest", outside: []string{"github.com/pelletier/go-toml/"}, roots: []string{"internal/family/familytest"}},
		// The manifests, their values (install/values), and the generator of the chart (install/cmd).
		{name: "install", roots: []string{"internal/install"}, mayImport: []string{"awsspec", "api", "words"}},
		// Adapters know neither each other nor the engine.
		{name: "kube", roots: []string{"internal/kube"}, mayImport: []string{"api", "words"}},
		{name: "aws", roots: []string{"internal/aws"}, mayImport: []string{"awsspec", "api", "words"}},
		// A simulated AWS with clients for it, for tests: product code imports none of it.
		{name: "awstest", roots: []string{"internal/aws/awstest"}, mayImport: []string{"aws", "lab"}},
		// Shells do not know each other.
		{name: "provider", roots: []string{"provider"}, mayImport: belowShells},
		// An API server in a test's process, with clients for it: product code imports none of it.
		{name: "apiservertest", roots: []string{"provider/internal/apiserver/apiservertest"}, mayImport: []string{"provider"}},
		{name: "daemon", roots: []string{"daemon"}, mayImport: belowShells},
		{name: "main", roots: []string{"."}, mayImport: []string{"provider"}},
		// The laboratory judges the product: it may read the product's data and
		// texts, but the simulated cloud must not share code with the client that
		// it checks, and nothing here decides with the engine. The API server is
		// real, so clients for it may be shared.
		{name: "lab", roots: []string{"internal/lab"}, mayImport: []string{"provider", "kube", "install", "awsspec", "api", "embedded", "words"}},
		{name: "bench", roots: []string{"internal/bench"}, mayImport: []string{"engine", "proof", "embedded", "words"}},
		{name: "archtest", roots: []string{"internal/archtest"}, mayImport: []string{"lab"}}, // the report of the tests locks as the tools do
		{name: testsOnly, outside: standardLibraryOnly, roots: []string{"internal/share"}},
		{name: "tools", roots: []string{"tools"}, mayImport: []string{"embedded", "engine", "sim", "words", "api", "aws", "lab"}},
	}
}

// layerOf returns the layer that a folder belongs to and the root that says so.
func layerOf(dir string) (found layer, root string) {
	for _, l := range layers() {
		for _, r := range l.roots {
			if (r == "." && dir == "." || r != "." && under(dir, r)) && len(r) > len(root) {
				found, root = l, r
			}
		}
	}
	return found, root
}

// checkLayers finds imports that point upwards or sideways. Tests may import
// what they need to judge with, but a test of the core stays off the outer layers.
func checkLayers(t tree) []breach {
	var all []breach
	for _, f := range t.gos {
		from, root := layerOf(f.dir)
		if root == "" {
			all = append(all, f.at(f.syntax.Package, "%s has no layer: place it in layers() of internal/archtest", f.dir))
			continue
		}
		for imported, pos := range f.imports() {
			if to, ok := strings.CutPrefix(imported, module); ok {
				if folder := cmp.Or(strings.TrimPrefix(to, "/"), "."); from.refuses(f, folder) {
					all = append(all, f.at(pos, "the %s layer must not import %s", from.name, folder))
				}
				continue
			}
			if !f.test && !from.takes(imported) {
				all = append(all, f.at(pos, "the %s layer must not import %s", from.name, imported))
			}
		}
	}
	return sorted(all)
}

// refuses reports whether a file of this layer must not import the folder.
func (l layer) refuses(f goFile, folder string) bool {
	to, _ := layerOf(folder)
	if to.name == testsOnly {
		return !f.test
	}
	if to.name == l.name || slices.Contains(l.mayImport, to.name) {
		return false
	}
	// A test in an outer layer may judge with whatever it needs.
	return !f.test || slices.Contains([]string{"words", "engine", "sim"}, l.name) && to.name != "proof"
}

// takes reports whether the layer may import a package from outside this module.
func (l layer) takes(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	if imported != "C" && !strings.Contains(first, ".") || l.outside == nil {
		return true
	}
	return slices.ContainsFunc(l.outside, func(prefix string) bool { return strings.HasPrefix(imported, prefix) })
}
