package provider_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// installed is a daemon as the state has it after an apply without a wait, in a cluster that
// answers nothing about it.
func installed(t *testing.T, server *fakeCluster, config object) *instance {
	t.Helper()
	withoutAWS(t)
	daemon := configured(t, object{"region": testRegion, "kubernetes": server.access(object{"token": "t"})}).resource("karpenter_daemon")
	p := daemon.planned(config)
	if !p.value.IsFullyKnown() {
		t.Fatalf("the plan has unknown values: %s", p.value)
	}
	record, err := json.Marshal(map[string][]byte{"made": []byte(`{"cluster":"` + server.uid + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	daemon.state, daemon.private, daemon.identity = p.value, record, p.identity
	return daemon
}

func TestDaemonNeeds_AreNotLookedAt(t *testing.T) {
	h := configured(t, object{"region": testRegion, "eks": object{"cluster_name": unknown{}}})
	without := plannedObjects(t, nil)
	for name, needs := range map[string]any{
		"no ids":              list{"", " ", "subnet 1", "rtb-1/0.0.0.0"},
		"null":                list{nil, "nat-1"},
		"empty":               list{},
		"unknown values":      list{"nat-1", unknown{}},
		"all of them unknown": unknown{},
	} {
		t.Run(name, func(t *testing.T) {
			config := with(daemonConfig(), object{"needs": needs})
			wantNoError(t, h.validate("karpenter_daemon", config))
			p := h.resource("karpenter_daemon").planned(config)
			objects := attributes(t, attributeOf(t, p.value, "objects"))
			if len(objects) != len(without) {
				t.Errorf("%d objects are planned, and %d without needs", len(objects), len(without))
			}
			for key, digest := range objects {
				if !digest.Equal(tftypes.NewValue(tftypes.String, without[key])) {
					t.Errorf("%s is planned as %s, and as %q without needs", key, digest, without[key])
				}
			}
		})
	}
}

// The daemon's pods stay as they are when the node group gets another id.
func TestDaemonNeeds_AChangeOfThemWritesNothingToTheCluster(t *testing.T) {
	server := startAPIServer(t)
	config := with(daemonConfig(), object{"wait": false, "needs": list{"group-1"}})
	daemon := installed(t, server, config)
	for _, needs := range []any{list{"group-2", "nat-1"}, list{}, nil, list{"group-3"}} {
		config = with(config, object{"needs": needs})
		before := attributeOf(t, daemon.state, "objects")
		server.forget()
		wantNoError(t, daemon.apply(config))
		if after := attributeOf(t, daemon.state, "objects"); !after.Equal(before) {
			t.Errorf("needs = %v: objects became %s, were %s", needs, after, before)
		}
		if want := daemon.plan(config); !attributeOf(t, want.value, "needs").Equal(attributeOf(t, daemon.state, "needs")) {
			t.Errorf("needs = %v: the state has %s", needs, attributeOf(t, daemon.state, "needs"))
		}
		for _, request := range server.requests() {
			if !strings.HasPrefix(request, "GET ") {
				t.Errorf("needs = %v: the cluster saw %s", needs, request)
			}
		}
	}
	// Another change with it is carried out; the cluster of this test lets nobody write.
	wantError(t, daemon.apply(with(config, object{"needs": nil, "replicas": 3})), "karpenter_daemon")
	if requests := server.requests(); !slices.ContainsFunc(requests, func(r string) bool { return strings.Contains(r, "/version") }) {
		t.Errorf("the cluster saw %q", requests)
	}
}

// An id that is unknown at plan time, such as that of a node group that is replaced in the
// same apply, changes no planned object.
func TestDaemonNeeds_UnknownInAnUpdateLeaveTheObjectsAsTheyAre(t *testing.T) {
	config := with(daemonConfig(), object{"wait": false, "needs": list{"group-1"}})
	daemon := installed(t, startAPIServer(t), config)
	p := daemon.planned(with(config, object{"needs": list{unknown{}}}))
	for _, name := range []string{"objects", "image_reference", "region", "id", "ready"} {
		if was, is := attributeOf(t, daemon.state, name), attributeOf(t, p.value, name); !is.Equal(was) {
			t.Errorf("%s is planned as %s, was %s", name, is, was)
		}
	}
}
