package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jsonObject is an object as JSON.
type jsonObject = map[string]any

// oldCluster is the objects of a cluster whose Karpenter is of before v1, by the path of their list.
// Its nodes are two hours old.
type oldCluster map[string][]jsonObject

// put adds an object.
func (c oldCluster) put(apiVersion, kind, plural string, o jsonObject) {
	path := "/apis/" + apiVersion + "/" + plural
	if !strings.Contains(apiVersion, "/") {
		path = "/api/" + apiVersion + "/" + plural
	}
	o["apiVersion"], o["kind"] = apiVersion, kind
	c[path] = append(c[path], o)
}

// fleet adds three nodes that are nearly empty, of a pool that the label names, with a pod each.
func (c oldCluster) fleet(poolLabel string) {
	made, seen := time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339)
	owner := []jsonObject{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": true}}
	spec := func() jsonObject {
		return jsonObject{"containers": []jsonObject{{"name": "a", "resources": jsonObject{"requests": jsonObject{"cpu": "1", "memory": "1Gi"}}}}}
	}
	for i := range 3 {
		name, zone := fmt.Sprintf("node-%d", i), "us-east-1"+"abc"[i:i+1]
		room := jsonObject{"cpu": "7910m", "memory": "31482952Ki", "pods": "58", "ephemeral-storage": "76224326324"}
		c.put("v1", "Node", "nodes", jsonObject{
			"metadata": jsonObject{"name": name, "uid": name, "creationTimestamp": made, "labels": jsonObject{
				"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": "m5.2xlarge",
				"topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "us-east-1", "karpenter.sh/capacity-type": "on-demand", poolLabel: "default",
			}},
			"spec":   jsonObject{"providerID": "aws:///" + zone + "/i-" + name},
			"status": jsonObject{"allocatable": room, "capacity": room, "conditions": []jsonObject{{"type": "Ready", "status": "True", "lastHeartbeatTime": seen}}},
		})
		pod := spec()
		pod["nodeName"] = name
		c.put("v1", "Pod", "pods", jsonObject{
			"metadata": jsonObject{"name": "web-" + name, "namespace": "shop", "uid": "web-" + name, "creationTimestamp": made, "labels": jsonObject{"app": "web"}, "ownerReferences": owner},
			"spec":     pod, "status": jsonObject{"phase": "Running", "conditions": []jsonObject{{"type": "Ready", "status": "True"}}},
		})
	}
	c.put("apps/v1", "ReplicaSet", "replicasets", jsonObject{
		"metadata": jsonObject{"name": "web", "namespace": "shop", "uid": "web", "creationTimestamp": made},
		"spec":     jsonObject{"replicas": 3, "selector": jsonObject{"matchLabels": jsonObject{"app": "web"}}, "template": jsonObject{"metadata": jsonObject{"labels": jsonObject{"app": "web"}}, "spec": spec()}},
	})
}

func requirements() []jsonObject {
	return []jsonObject{
		{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []string{"on-demand"}},
		{"key": "kubernetes.io/arch", "operator": "In", "values": []string{"amd64"}},
	}
}

// betaCluster is a cluster of v1beta1.
func betaCluster() oldCluster {
	c := oldCluster{}
	c.fleet("karpenter.sh/nodepool")
	c.put("karpenter.sh/v1beta1", "NodePool", "nodepools", jsonObject{"metadata": jsonObject{"name": "default", "uid": "pool"}, "spec": jsonObject{
		"disruption": jsonObject{"consolidationPolicy": "WhenUnderutilized"}, "template": jsonObject{"spec": jsonObject{"nodeClassRef": jsonObject{"name": "default"}, "requirements": requirements()}},
	}})
	terms := []jsonObject{{"tags": jsonObject{"a": "b"}}}
	c.put("karpenter.k8s.aws/v1beta1", "EC2NodeClass", "ec2nodeclasses", jsonObject{"metadata": jsonObject{"name": "default", "uid": "class"}, "spec": jsonObject{
		"amiFamily": "AL2023", "role": "node", "subnetSelectorTerms": terms, "securityGroupSelectorTerms": terms,
	}})
	for _, n := range slices.Clone(c["/api/v1/nodes"]) {
		meta, of := n["metadata"].(jsonObject), n["status"].(jsonObject)
		var conditions []jsonObject
		for _, x := range []string{"Launched", "Registered", "Initialized", "Ready"} {
			conditions = append(conditions, jsonObject{"type": x, "status": "True", "lastTransitionTime": meta["creationTimestamp"]})
		}
		c.put("karpenter.sh/v1beta1", "NodeClaim", "nodeclaims", jsonObject{
			"metadata": jsonObject{"name": "default-" + fmt.Sprint(meta["name"]), "uid": "claim-" + fmt.Sprint(meta["name"]), "creationTimestamp": meta["creationTimestamp"], "labels": meta["labels"]},
			"spec":     jsonObject{"nodeClassRef": jsonObject{"name": "default"}, "requirements": []jsonObject{}},
			"status":   jsonObject{"nodeName": meta["name"], "providerID": n["spec"].(jsonObject)["providerID"], "imageID": "ami-1", "allocatable": of["allocatable"], "capacity": of["capacity"], "conditions": conditions},
		})
	}
	return c
}

// alphaCluster is a cluster of v1alpha5, whose pool lacks a field that nothing converts.
func alphaCluster() oldCluster {
	c := oldCluster{}
	c.fleet("karpenter.sh/provisioner-name")
	c.put("karpenter.sh/v1alpha5", "Provisioner", "provisioners", jsonObject{"metadata": jsonObject{"name": "default", "uid": "pool"}, "spec": jsonObject{
		"consolidation": jsonObject{"enabled": true}, "providerRef": jsonObject{"name": "default"}, "requirements": requirements(),
	}})
	c.put("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", "awsnodetemplates", jsonObject{"metadata": jsonObject{"name": "default", "uid": "class"}, "spec": jsonObject{
		"subnetSelector": jsonObject{"a": "b"}, "securityGroupSelector": jsonObject{"a": "b"}, "launchTemplate": "custom",
	}})
	return c
}

// serve is the API server of the cluster. Who asks for a path in forbidden is refused.
func (c oldCluster) serve(t *testing.T, forbidden ...string) (kubeconfig string) {
	t.Helper()
	answer := func(w http.ResponseWriter, code int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(value); err != nil {
			t.Error(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var resources []jsonObject
		for path, items := range c {
			if rest, is := strings.CutPrefix(path, r.URL.Path+"/"); is {
				resources = append(resources, jsonObject{"name": rest, "kind": items[0]["kind"], "namespaced": false, "verbs": []string{"list"}})
			}
		}
		items, there := c[r.URL.Path]
		switch {
		case slices.Contains(forbidden, r.URL.Path):
			answer(w, http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden})
		case there:
			answer(w, http.StatusOK, jsonObject{"apiVersion": items[0]["apiVersion"], "kind": fmt.Sprint(items[0]["kind"], "List"), "metadata": jsonObject{"resourceVersion": "1"}, "items": items})
		case len(resources) > 0:
			answer(w, http.StatusOK, jsonObject{"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": strings.TrimPrefix(r.URL.Path, "/apis/"), "resources": resources})
		default:
			answer(w, http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound})
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// dump writes what kubectl would of the cluster.
func (c oldCluster) dump(t *testing.T) string {
	t.Helper()
	var items []jsonObject
	for _, path := range slices.Sorted(maps.Keys(c)) {
		items = append(items, c[path]...)
	}
	text, err := json.Marshal(jsonObject{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// reportOf runs the command, and returns the report without its time and notes.
func reportOf(t *testing.T, args ...string) (report jsonObject, notes string) {
	t.Helper()
	code, out, said := start(t, append([]string{"karpenterd", "simulate", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone {
		t.Fatalf("%v: code %d, %v: %s", args, code, err, said)
	}
	notes = fmt.Sprint(report["notes"])
	delete(report, "time")
	delete(report, "notes")
	return report, notes
}

func TestSimulate_AClusterBeforeV1IsReadAsItsDump(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]oldCluster{"v1beta1": betaCluster(), "v1alpha5": alphaCluster()} {
		live, _ := reportOf(t, "--kubeconfig", c.serve(t))
		file, _ := reportOf(t, "-f", c.dump(t))
		if !reflect.DeepEqual(live, file) {
			t.Errorf("%s: of the cluster\n%v\nof its dump\n%v", name, live, file)
		}
		now := live["now"].(jsonObject)
		pools := now["pools"].([]any)
		if now["nodes"] != 3.0 || len(pools) != 1 || pools[0].(jsonObject)["name"] != "default" {
			t.Errorf("%s: %v", name, now)
		}
		if name == "v1alpha5" && !strings.Contains(fmt.Sprint(live["notCarriedOut"]), "launchTemplate") {
			t.Errorf("%s: not carried out: %v", name, live["notCarriedOut"])
		}
		if name == "v1beta1" && live["drift"].(jsonObject)["nodeClaims"] != 3.0 {
			t.Errorf("%s: %v", name, live["drift"])
		}
	}
}

// Both are served while Karpenter converts objects: those of v1 are all.
func TestSimulate_AClusterThatServesV1IsNotReadTwice(t *testing.T) {
	t.Parallel()
	c := betaCluster()
	c.put("karpenter.sh/v1", "NodePool", "nodepools", jsonObject{"metadata": jsonObject{"name": "other", "uid": "other"}, "spec": jsonObject{"template": jsonObject{"spec": jsonObject{
		"nodeClassRef": jsonObject{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": requirements(),
	}}}})
	if _, notes := reportOf(t, "--kubeconfig", c.serve(t, "/apis/karpenter.sh/v1beta1/nodepools")); strings.Contains(notes, "not allowed to list nodepools") {
		t.Errorf("notes %s", notes)
	}
}

func TestSimulate_WhatMayNotBeListedOfOlderKindsIsNoted(t *testing.T) {
	t.Parallel()
	_, notes := reportOf(t, "--kubeconfig", alphaCluster().serve(t, "/apis/karpenter.sh/v1alpha5/provisioners"))
	if !strings.Contains(notes, "not allowed to list provisioners.karpenter.sh, so none counts") {
		t.Errorf("notes %s", notes)
	}
}
