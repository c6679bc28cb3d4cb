package legacyapi_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/legacyapi"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func refusedText(o metav1.Object) string { return o.GetAnnotations()[v1.AnnotationRefused] }

func TestServer_EachProvisionerHasAPoolAndAClassOfItsName(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", map[string]any{"kubeletConfiguration": map[string]any{"maxPods": int64(20)}})
	b.provisioner("b", nil)
	for _, name := range []string{"a", "b"} {
		if p, c := b.pool(name), b.class(name); p == nil || c == nil || !translate.Pool(p).Ready || p.Spec.Template.Spec.NodeClassRef.Name != name {
			t.Errorf("%s: pool %+v, class %+v", name, p, c)
		}
	}
	if a, b := b.class("a").Spec.Kubelet, b.class("b").Spec.Kubelet; a == nil || b != nil {
		t.Errorf("kubelet %v and %v: each has its own", a, b)
	}
}

// The order of the watches is not known: either may come first.
func TestServer_TemplateMayComeLaterAndChange(t *testing.T) {
	b := newBench(t)
	b.provisioner("a", nil)
	if text := refusedText(b.pool("a")); !strings.Contains(text, `AWSNodeTemplate "shared" does not exist`) {
		t.Errorf("refused: %q", text)
	}
	b.template(nil)
	if text := refusedText(b.pool("a")); text != "" || !translate.Pool(b.pool("a")).Ready {
		t.Errorf("refused: %q", text)
	}
	before := b.class("a")
	b.template(map[string]any{"tags": map[string]any{"team": "x"}})
	after := b.class("a")
	if after.Spec.Tags["team"] != "x" || after.Generation == before.Generation {
		t.Errorf("class %+v, generation %d after %d", after.Spec.Tags, after.Generation, before.Generation)
	}
	b.provisioner("a", map[string]any{"weight": int64(7)})
	if got := b.class("a").Generation; got != after.Generation {
		t.Errorf("generation %d, want %d: the class would be unready until AWS is asked anew", got, after.Generation)
	}
}

func TestServer_BrokenProvisionerKeepsWhatItHadAndHarmsNoOther(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("good", nil)
	b.provisioner("bad", map[string]any{"weight": int64(7)})
	b.provisioner("bad", map[string]any{"weights": int64(7)})
	b.sync()
	bad := b.pool("bad")
	if read := translate.Pool(bad); read.Ready || !strings.Contains(read.NotReady, "spec.weights: no such field; write spec.weight") {
		t.Errorf("pool: %+v", read)
	}
	if bad.Spec.Weight == nil || *bad.Spec.Weight != 7 || translate.RefusedClass(b.class("bad")) == "" {
		t.Errorf("pool %+v, class refused %q", bad.Spec, translate.RefusedClass(b.class("bad")))
	}
	if !translate.Pool(b.pool("good")).Ready || b.condition("good", "Served").Status != metav1.ConditionTrue {
		t.Error("the other is not served")
	}
	if c := b.condition("bad", "Served"); c.Status != metav1.ConditionFalse || c.Reason != "Invalid" || !strings.Contains(c.Message, "spec.weights") {
		t.Errorf("condition %+v", c)
	}
	b.sync()
	if len(b.events) != 1 || !strings.HasPrefix(b.events[0], `Warning NotServed: Provisioner "bad": spec.weights`) {
		t.Errorf("events %q, want one", b.events)
	}
}

func TestServer_ObjectOfTheClusterWinsItsName(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	uid := b.pool("a").UID
	theirs := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "theirs", ResourceVersion: "1"}}
	theirs.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "x"}
	b.Observe(theirs)
	b.world.Observe(theirs)
	b.sync()
	if b.pool("a").UID != "theirs" {
		t.Error("the Provisioner's pool is still there")
	}
	if c := b.condition("a", "Served"); c.Status != metav1.ConditionFalse || c.Reason != "NameTaken" || !strings.Contains(c.Message, `NodePool "a" of the cluster has the name`) {
		t.Errorf("condition %+v", c)
	}
	if c := b.condition("a", "Ready"); c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
	b.world.Forget(theirs)
	b.Forget(theirs)
	if got := b.pool("a"); got == nil || got.UID != uid || !translate.Pool(got).Ready {
		t.Errorf("the Provisioner is not served again: %+v", got)
	}
}

func TestServer_ClassOfTheClusterWinsItsName(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	theirs := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "theirs", ResourceVersion: "1"}}
	b.Observe(theirs)
	b.world.Observe(theirs)
	if b.class("a").UID != "theirs" {
		t.Error("the Provisioner's class is still there")
	}
	if text := refusedText(b.pool("a")); !strings.Contains(text, `EC2NodeClass "a" of the cluster`) {
		t.Errorf("pool refused: %q", text)
	}
}

// The Provisioner would otherwise stay for ever: nobody else holds what is not in memory.
func TestServer_DeletedProvisionerWhoseNameIsTakenIsReleased(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	p := b.provisioner("a", nil).DeepCopy()
	deleted := metav1.NewTime(b.now)
	p.SetDeletionTimestamp(&deleted)
	p.SetFinalizers([]string{"other", v1.FinalizerTermination, awsv1.FinalizerTermination})
	b.provisioners.put(p)
	b.Observe(p)
	b.Observe(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "theirs"}})
	b.sync()
	if got := b.provisioners.all["a"].GetFinalizers(); !slices.Equal(got, []string{"other", awsv1.FinalizerTermination}) {
		t.Errorf("finalizers %v: that of the class stays, which is in memory", got)
	}
}

func TestServer_StatusIsWrittenBackAndFoundAfterARestart(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	class := b.class("a").DeepCopy()
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}
	class.Conditions().SetTrue(awsv1.ConditionSubnetsReady, b.now)
	if _, err := b.classes().UpdateStatus(t.Context(), class, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pool := b.pool("a").DeepCopy()
	pool.Conditions().SetTrue(v1.ConditionValidationSucceeded, b.now)
	n := int64(3)
	pool.Status.Nodes = &n
	written, err := b.pools().UpdateStatus(t.Context(), pool, metav1.UpdateOptions{})
	if err != nil || written.Status.Nodes == nil || *written.Status.Nodes != 3 {
		t.Fatalf("%v: %+v", err, written)
	}
	b.sync()
	if got, _, _ := unstructured.NestedSlice(b.templates.all["shared"].Object, "status", "subnets"); len(got) != 1 {
		t.Errorf("AWSNodeTemplate: %v", b.templates.all["shared"].Object["status"])
	}
	poolBefore, classBefore := b.pool("a"), b.class("a")
	b.restart()
	if got := b.class("a"); !reflect.DeepEqual(got, classBefore) {
		t.Errorf("class\n%+v, want\n%+v", got, classBefore)
	}
	if got := b.pool("a"); !reflect.DeepEqual(got, poolBefore) {
		t.Errorf("pool\n%+v, want\n%+v", got, poolBefore)
	}
}

func TestServer_TemplateSpeaksOfAServedProvisionerWhereThereIsOne(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", map[string]any{"weights": int64(7)})
	b.provisioner("b", nil)
	class := b.class("b").DeepCopy()
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	if _, err := b.classes().UpdateStatus(t.Context(), class, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.sync()
	if got, _, _ := unstructured.NestedSlice(b.templates.all["shared"].Object, "status", "amis"); len(got) != 1 {
		t.Errorf("AWSNodeTemplate: %v", b.templates.all["shared"].Object["status"])
	}
}

// EKS publishes no images of Amazon Linux 2 from 1.33 on.
func TestServer_AnUpgradeOfTheControlPlaneServesWhatItHasImagesFor(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("web", nil)
	b.sync()
	if got := b.class("web").Spec.AMISelectorTerms; len(got) != 1 || got[0].Alias != "al2@latest" {
		t.Errorf("with 1.32: %+v", got)
	}
	b.kubernetes = 33
	b.sync()
	if got := b.class("web").Spec.AMISelectorTerms; len(got) != 1 || got[0].Alias != "al2023@latest" {
		t.Errorf("with 1.33: %+v", got)
	}
}

func TestServer_WhatIsServedOtherwiseIsSaidOnce(t *testing.T) {
	b := newBench(t)
	b.kubernetes = 33
	b.restart()
	b.template(nil)
	b.provisioner("a", nil)
	b.sync()
	b.restart()
	b.sync()
	if c := b.condition("a", "Adapted"); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "AL2 has no image for Kubernetes 1.33") {
		t.Errorf("condition %+v", c)
	}
	if len(b.events) != 1 || !strings.HasPrefix(b.events[0], "Warning ServedAdapted: ") {
		t.Errorf("events %q, want one, also after a restart", b.events)
	}
	b.template(map[string]any{"amiFamily": "Bottlerocket"})
	b.sync()
	if c := b.condition("a", "Adapted"); c.Type != "" {
		t.Errorf("condition %+v", c)
	}
}

func TestServer_TheLogSaysWhichSettingsAreNotCarriedOut(t *testing.T) {
	var log bytes.Buffer
	s := legacyapi.New(legacyapi.Config{
		Logger:  hclog.New(&hclog.LoggerOptions{Output: &log}),
		Setting: func(variable string) string { return map[string]string{"CLUSTER_NAME": "lab"}[variable] },
	})
	if err := s.Settings(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "karpenter-global-settings"}, Data: map[string]string{"aws.reservedENIs": "1", "aws.clusterName": "lab"}}); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Count(text, "[WARN]") != 1 || !strings.Contains(text, "a setting of the APIs before v1 is not carried out: problem=") || !strings.Contains(text, "aws.reservedENIs") {
		t.Errorf("log:\n%s", text)
	}
}

func TestServer_TheTextOfAnEventIsBounded(t *testing.T) {
	b := newBench(t)
	b.provisioner("a", map[string]any{"providerRef": map[string]any{"name": strings.Repeat("x", 2*v1.MostMessage)}})
	b.sync()
	if len(b.events) != 1 || len(strings.TrimPrefix(b.events[0], "Warning NotServed: ")) != v1.MostMessage {
		t.Errorf("events %q, want one of %d bytes", b.events, v1.MostMessage)
	}
}

func TestServer_SecondSyncWritesNothing(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	b.provisioner("bad", map[string]any{"weights": int64(7)})
	b.sync()
	before := b.provisioners.writes + b.templates.writes
	b.now = b.now.Add(time.Minute)
	b.sync()
	if after := b.provisioners.writes + b.templates.writes; before == 0 || after != before {
		t.Errorf("%d writes, then %d", before, after)
	}
}

func TestServer_WritersOfOneStatusDoNotUndoEachOther(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	stale := b.pool("a").DeepCopy()
	b.sync()
	stale.Conditions().SetTrue(v1.ConditionNodeClassReady, b.now)
	b.provisioners.meddles = 2
	if _, err := b.pools().UpdateStatus(t.Context(), stale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if c := b.condition("a", "Migrate"); c.Status != metav1.ConditionTrue {
		t.Errorf("condition Migrate %+v", c)
	}
	if c := b.condition("a", v1.ConditionNodeClassReady); c.Status != metav1.ConditionTrue {
		t.Errorf("condition NodeClassReady %+v", c)
	}
}

func TestServer_FinalizersOfPoolAndClassAreApart(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	pool, err := kube.SetFinalizers(t.Context(), b.pools(), b.pool("a"), []string{v1.FinalizerTermination}, metav1.PatchOptions{})
	if err != nil || !slices.Equal(pool.Finalizers, []string{v1.FinalizerTermination}) {
		t.Fatalf("%v: %v", err, pool)
	}
	class, err := kube.SetFinalizers(t.Context(), b.classes(), b.class("a"), []string{awsv1.FinalizerTermination}, metav1.PatchOptions{})
	if err != nil || !slices.Equal(class.Finalizers, []string{awsv1.FinalizerTermination}) {
		t.Fatalf("%v: %v", err, class)
	}
	if _, err = kube.SetFinalizers(t.Context(), b.pools(), b.pool("a"), nil, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.provisioners.all["a"].GetFinalizers(); !slices.Equal(got, []string{awsv1.FinalizerTermination}) {
		t.Errorf("finalizers %v", got)
	}
}

func TestServer_HashesOfPoolAndClassAreAnnotationsOfTheProvisioner(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	b.provisioner("a", nil)
	for key, write := range map[string]func([]byte) error{
		v1.AnnotationNodePoolHash: func(data []byte) error {
			_, err := b.pools().Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{})
			return err
		},
		awsv1.AnnotationNodeClassHash: func(data []byte) error {
			_, err := b.classes().Patch(t.Context(), "a", types.MergePatchType, data, metav1.PatchOptions{})
			return err
		},
	} {
		if err := write(translate.PatchOfVersion(b.pool("a"), map[string]any{"annotations": map[string]string{key: "1"}}).JSON()); err != nil {
			t.Fatal(err)
		}
		if b.provisioners.all["a"].GetAnnotations()[key] != "1" || b.pool("a").Annotations[key] != "1" {
			t.Errorf("%s is not written", key)
		}
	}
}

func TestServer_DeletedProvisionerGoesFromTheWorld(t *testing.T) {
	b := newBench(t)
	b.template(nil)
	p := b.provisioner("a", nil)
	delete(b.provisioners.all, "a")
	b.Forget(p)
	if b.pool("a") != nil || b.class("a") != nil {
		t.Error("pool or class is left")
	}
}

func TestServer_LongMigrationIsNotInTheCondition(t *testing.T) {
	b := newBench(t)
	b.template(map[string]any{"userData": strings.Repeat("# a comment\n", 2000)})
	b.provisioner("a", nil)
	b.sync()
	if c := b.condition("a", "Migrate"); c.Reason != "TooLong" || len(c.Message) > 1000 || !strings.Contains(c.Message, "karpenterd convert") {
		t.Errorf("condition %s: %d bytes", c.Reason, len(c.Message))
	}
}
