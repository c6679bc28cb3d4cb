package archtest

import (
	"slices"
	"strings"
)

// providerRoot is the folder of the Terraform provider.
const providerRoot = "provider"

// providerLayers lists the packages of the provider, from the list of what it serves down to what
// knows of nothing else. A package imports only those in layers further down: so none imports
// the provider itself, what resources share imports no resource, and no resource another.
func providerLayers() [][]string {
	return [][]string{
		{"."}, // the provider, its configuration and the list of what it serves
		{"controllerrole", "noderole", "interruptionqueue", "discoverytags", "instanceprofile", "spotrole", "daemon", "nodepool", "nodeclass"}, // a package a resource
		{"iamrole"},                 // what the roles share
		{"kubeobject"},              // what the resources in the cluster share
		{"managed"},                 // what all resources share
		{"session"},                 // what Configure hands to them
		{"apiserver/apiservertest"}, // an API server for tests
		{"apiserver"},               // the cluster
		{"ownership"},               // what was made
		{"failure", "policydoc", "choice", "definition"},     // errors and remedies, and the rules of values
		{"credentials", "region", "convert", "memo", "pace"}, // AWS's login, manifests
		{"fwvalue", "fwtype", "validate"},                    // values of the framework
	}
}

// providerLayerOf returns the layer of the folder, -1 for one outside the provider or without a
// layer.
func providerLayerOf(dir string) int {
	name, inside := strings.CutPrefix(dir, providerRoot+"/internal/")
	switch {
	case dir == providerRoot:
		name = "."
	case !inside:
		return -1
	}
	return slices.IndexFunc(providerLayers(), func(layer []string) bool { return slices.Contains(layer, name) })
}

// checkProvider finds imports within the provider that point back up or sideways. Tests may judge
// a package by the whole provider.
func checkProvider(t tree) []breach {
	return downwards(t, providerRoot, providerLayerOf, "%s has no layer in the provider: see providerLayers() of internal/archtest", "%s must not import %s, which is not below it")
}
