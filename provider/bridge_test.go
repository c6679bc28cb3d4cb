package provider_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Pulumi's Terraform bridge reads the schema alone, and makes names and types of it by fixed
// rules. These tests hold the schema to the rules, without the bridge: make test-pulumi runs it.

// plurals are the lists and sets whose names the bridge changes, as it does with all that are
// not plural. The guide has each.
func plurals() map[string]string {
	return map[string]string{"assume_role": "assumeRoles", "preferred": "preferreds", "required": "requireds"}
}

func TestBridge_NamesComeBackFromCamelCase(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$`)
	guide, err := os.ReadFile("../templates/guides/pulumi.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	unused := plurals()
	for at, siblings := range bridged(t) {
		seen := map[string]string{}
		for _, a := range siblings {
			if !snake.MatchString(a.Name) {
				t.Errorf("%s.%s: its words do not come back from camel case: each begins with a small letter", at, a.Name)
			}
			name := camel(a.Name)
			if isList(a) && !strings.HasSuffix(a.Name, "s") {
				name = plurals()[a.Name]
				delete(unused, a.Name)
				if name == "" || !strings.Contains(string(guide), "`"+name+"`") {
					t.Errorf("%s.%s: the bridge makes a plural of the name of a list or set; plurals and the guide Pulumi lack it", at, a.Name)
				}
			}
			if other, taken := seen[name]; taken {
				t.Errorf("%s.%s and %[1]s.%s are both %s in Pulumi", at, a.Name, other, name)
			}
			seen[name] = a.Name
		}
	}
	if len(unused) > 0 {
		t.Errorf("plurals has names that no list has: %v", unused)
	}
}

// Pulumi's own words: pulumi/pkg/codegen/schema/reserved_keywords.go, and what the bridge
// keeps in the state beside the attributes.
func TestBridge_NoAttributeHasAWordOfPulumi(t *testing.T) {
	h := newHarness(t)
	refuse := func(at string, attributes []*tfprotov6.SchemaAttribute, words ...string) {
		for _, a := range attributes {
			if slices.Contains(words, a.Name) {
				t.Errorf("%s.%s: Pulumi reserves the name, and the bridge renames or refuses it", at, a.Name)
			}
		}
	}
	refuse("provider", h.schema.Provider.Block.Attributes, "pulumi", "version", "plugin_download_url", "urn", "id")
	for name, s := range h.schema.ResourceSchemas {
		refuse(name, s.Block.Attributes, "pulumi", "urn", "provider", "parent", "opts")
		for _, a := range s.Block.Attributes {
			if a.Name == "id" && (!a.Computed || a.Optional || a.Sensitive || !a.Type.Is(tftypes.String)) {
				t.Errorf("%s.id: the bridge renames it unless it is a computed string that is no secret", name)
			}
		}
	}
	for name, s := range h.schema.DataSourceSchemas {
		refuse("data "+name, s.Block.Attributes, "pulumi", "id", "urn", "opts")
	}
}

// What has no type in Pulumi: values whose type is known at run time alone, tuples, and
// write-only attributes, whose values the bridge would keep. A block with one item would
// lose its list.
func TestBridge_EveryTypeHasOneInPulumi(t *testing.T) {
	h := newHarness(t)
	schemas := maps.Clone(h.schema.ResourceSchemas)
	maps.Copy(schemas, h.schema.DataSourceSchemas)
	schemas["provider"] = h.schema.Provider
	for name, s := range schemas {
		if len(s.Block.BlockTypes) > 0 {
			t.Errorf("%s has blocks: an attribute with nested attributes keeps its shape in Pulumi", name)
		}
	}
	for at, siblings := range bridged(t) {
		for _, a := range siblings {
			if a.WriteOnly {
				t.Errorf("%s.%s is write-only", at, a.Name)
			}
			if at+"."+a.Name == "karpenter_node_class.kubelet.extra" {
				continue // fields of the kubelet that nobody can list here: any value in Pulumi
			}
			if a.NestedType == nil && !hasType(a.Type) {
				t.Errorf("%s.%s: %s has no type in Pulumi", at, a.Name, a.Type)
			}
		}
	}
}

func hasType(typ tftypes.Type) bool {
	switch typ := typ.(type) {
	case tftypes.List:
		return hasType(typ.ElementType)
	case tftypes.Set:
		return hasType(typ.ElementType)
	case tftypes.Map:
		return hasType(typ.ElementType)
	case tftypes.Object:
		return !slices.ContainsFunc(slices.Collect(maps.Values(typ.AttributeTypes)), func(t tftypes.Type) bool { return !hasType(t) })
	}
	return typ.Is(tftypes.String) || typ.Is(tftypes.Number) || typ.Is(tftypes.Bool)
}

// Keys of objects become camel case, keys of maps stay: what users choose belongs in a map.
func TestBridge_WhatUsersNameIsAMap(t *testing.T) {
	named := []string{"tags", "tags_all", "selector_tags", "labels", "match_labels", "annotations", "object_labels", "object_annotations", "pod_labels", "pod_annotations", "node_selector", "environment", "env"}
	found := 0
	for at, siblings := range bridged(t) {
		for _, a := range siblings {
			if !slices.Contains(named, a.Name) {
				continue
			}
			found++
			if a.NestedType != nil || !a.Type.Is(tftypes.Map{}) {
				t.Errorf("%s.%s is no map: Pulumi would change its keys to camel case", at, a.Name)
			}
		}
	}
	limits := find(bridged(t)["karpenter_node_pool"], "limits")
	if limits == nil || !limits.Type.Is(tftypes.Map{}) {
		t.Errorf("karpenter_node_pool.limits is %v, and has names of resources as its keys", limits)
	}
	if found < len(named) {
		t.Errorf("%d of at least %d maps found", found, len(named))
	}
}

// bridged returns all attributes by what they are in: the provider, a resource, a data source
// or an attribute with nested attributes.
func bridged(t *testing.T) map[string][]*tfprotov6.SchemaAttribute {
	t.Helper()
	h := newHarness(t)
	out := map[string][]*tfprotov6.SchemaAttribute{}
	var add func(at string, attributes []*tfprotov6.SchemaAttribute)
	add = func(at string, attributes []*tfprotov6.SchemaAttribute) {
		out[at] = attributes
		for _, a := range attributes {
			if a.NestedType != nil {
				add(at+"."+a.Name, a.NestedType.Attributes)
			}
		}
	}
	add("provider", h.schema.Provider.Block.Attributes)
	for name, s := range h.schema.ResourceSchemas {
		add(name, s.Block.Attributes)
	}
	for name, s := range h.schema.DataSourceSchemas {
		add("data "+name, s.Block.Attributes)
	}
	return out
}

func find(attributes []*tfprotov6.SchemaAttribute, name string) *tfprotov6.SchemaAttribute {
	for _, a := range attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func isList(a *tfprotov6.SchemaAttribute) bool {
	if a.NestedType != nil {
		return a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeList || a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSet
	}
	return a.Type.Is(tftypes.List{}) || a.Type.Is(tftypes.Set{})
}

// camel is the bridge's rule: the letter after an underscore becomes a capital.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
