package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// labelled are the kinds whose objects may have labels and annotations of their own: a good
// configuration, and where the object is.
func labelled() map[string]struct {
	config func(object) object
	path   string
} {
	type kind = struct {
		config func(object) object
		path   string
	}
	return map[string]kind{
		"karpenter_node_pool":  {func(more object) object { return poolConfig(with(object{"wait": false}, more)) }, poolObjectPath},
		"karpenter_node_class": {func(more object) object { return classConfig(with(object{"wait": false}, more)) }, "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default"},
	}
}

// metadataOf is the metadata of an object in the cluster.
type metadataOf struct {
	*fakeObjects
	t    *testing.T
	path string
}

func (m metadataOf) want(name string, want object) {
	m.t.Helper()
	have, _ := field(m.look(m.path), "metadata", name).(object)
	if d := cmp.Diff(want, have); d != "" {
		m.t.Errorf("%s: %s", name, d)
	}
}

// set is what somebody else does; nil removes the key.
func (m metadataOf) set(name, key string, value any) {
	m.change(m.path, func(o object) object {
		metadata := o["metadata"].(object)
		inner, _ := metadata[name].(object)
		if inner == nil {
			inner = object{}
			metadata[name] = inner
		}
		if inner[key] = value; value == nil {
			delete(inner, key)
		}
		return o
	})
}

// TestObjectMetadata_IsOwnedKeyByKey declares labels and annotations beside those of somebody
// else, lets them drift, and takes them away.
func TestObjectMetadata_IsOwnedKeyByKey(t *testing.T) {
	for kind, of := range labelled() {
		t.Run(kind, func(t *testing.T) {
			c := startObjects(t)
			h, live := c.provider(t), metadataOf{c, t, of.path}
			i := h.resource(kind)
			apply := func(config object) {
				t.Helper()
				wantNoError(t, i.apply(config))
				i.settled(config)
			}
			both := of.config(object{"object_labels": object{"team": "a", "tier": "b"}, "object_annotations": object{"owner": "x"}})
			apply(both)
			live.want("labels", object{"team": "a", "tier": "b"})
			live.want("annotations", object{"owner": "x"})

			live.set("labels", "argocd.argoproj.io/instance", "theirs")
			live.set("annotations", "karpenter.sh/nodepool-hash", "1")
			i.settled(both)
			live.set("labels", "team", "meddled")
			i.drifted(both, "object_labels")
			apply(both)
			live.set("annotations", "owner", nil)
			i.drifted(both, "object_annotations")
			apply(both)
			live.want("labels", object{"team": "a", "tier": "b", "argocd.argoproj.io/instance": "theirs"})
			live.want("annotations", object{"owner": "x", "karpenter.sh/nodepool-hash": "1"})
			copied, diags := h.imported(kind, i.text("name"))
			wantNoError(t, diags)
			for _, attribute := range []string{"object_labels", "object_annotations"} {
				if is, want := attributeOf(t, copied.state, attribute), attributeOf(t, i.state, attribute); !is.Equal(want) {
					t.Errorf("the import has %s %s, want %s", attribute, is, want)
				}
			}

			apply(of.config(object{"object_labels": object{"team": "a"}}))
			live.want("labels", object{"team": "a", "argocd.argoproj.io/instance": "theirs"})
			live.want("annotations", object{"karpenter.sh/nodepool-hash": "1"})
			apply(of.config(nil))
			live.want("labels", object{"argocd.argoproj.io/instance": "theirs"})
		})
	}
}

func TestObjectMetadata_WhatControllersWriteIsRefused(t *testing.T) {
	h := newHarness(t)
	for kind, of := range labelled() {
		for name, bad := range map[string]struct {
			more object
			says []string
		}{
			"hash":        {object{"object_annotations": object{"karpenter.sh/nodepool-hash": "1"}}, []string{"object_annotations", "nodepool-hash", "remove it"}},
			"class hash":  {object{"object_annotations": object{"karpenter.k8s.aws/ec2nodeclass-hash-version": "v4"}}, []string{"ec2nodeclass-hash-version"}},
			"kubectl":     {object{"object_annotations": object{"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, []string{"kubectl", "remove it"}},
			"ours":        {object{"object_annotations": object{"karpenterd.sh/terminate": "true"}}, []string{"karpenterd.sh/terminate"}},
			"our label":   {object{"object_labels": object{"karpenterd.sh/renamed-from": "x"}}, []string{"object_labels", "belong to karpenterd"}},
			"no key":      {object{"object_annotations": object{"a b": "x"}}, []string{"object_annotations", `"a b"`}},
			"label key":   {object{"object_labels": object{"a b": "x"}}, []string{"object_labels", `"a b"`}},
			"label value": {object{"object_labels": object{"a": "not a value"}}, []string{"object_labels", "not a value"}},
		} {
			t.Run(kind+" "+name, func(t *testing.T) { wantError(t, h.validate(kind, of.config(bad.more)), bad.says...) })
		}
	}
	paused := object{"object_annotations": object{"karpenterd.sh/pause-disruption": "true"}}
	wantNoError(t, h.validate("karpenter_node_pool", poolConfig(paused)))
	wantError(t, h.validate("karpenter_node_class", classConfig(paused)), "karpenter_node_pool", "object_annotations")
	for kind, of := range labelled() {
		wantNoError(t, h.validate(kind, of.config(object{"object_labels": unknown{}, "object_annotations": object{"a": unknown{}}})))
	}
}
