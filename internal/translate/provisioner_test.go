package translate_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const spread = "karpenter.sh/capacity-spread"

// fromProvisioner is a NodePool in memory that requires a key which no NodeClaim may.
func fromProvisioner() *v1.NodePool {
	p := &v1.NodePool{TypeMeta: metav1.TypeMeta{Kind: legacy.KindProvisioner}, ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: spread, Operator: "In", Values: []string{"1", "2"}},
		{Key: label.Arch, Operator: "In", Values: []string{"amd64"}},
	}
	return p
}

func TestNodeClaim_OfAProvisionerHasRestrictedKeysAsLabelsOnlyAndNoOwner(t *testing.T) {
	launch := plan.Launch{
		Pool: "p", Types: []plan.Choice{{Type: "a"}}, Zones: []string{"z"}, CapacityType: "spot",
		Labels: label.FromMap(map[string]string{spread: "2", "karpenter.sh/provisioner-name": "p"}),
	}
	claim := translate.NodeClaim(launch, fromProvisioner(), v1.AwaitingPodsTaint())
	var keys []string
	for _, r := range claim.Spec.Requirements {
		keys = append(keys, r.Key)
	}
	if slices.Contains(keys, spread) || !slices.Contains(keys, label.Arch) || !slices.Contains(keys, label.CapacityType) || !slices.Contains(keys, v1.LabelNodePool) {
		t.Errorf("requirements of %v", keys)
	}
	if claim.Labels[spread] != "2" || claim.Labels["karpenter.sh/provisioner-name"] != "p" {
		t.Errorf("labels %v", claim.Labels)
	}
	if len(claim.OwnerReferences) > 0 {
		t.Errorf("owners %v: they would take the nodes along when the Provisioner is deleted after its migration", claim.OwnerReferences)
	}
	ordinary := fromProvisioner()
	ordinary.Kind = v1.NodePoolKind
	if got := translate.NodeClaim(launch, ordinary, v1.AwaitingPodsTaint()).OwnerReferences; len(got) != 1 || got[0].UID != "u" {
		t.Errorf("owners of a NodePool's %v", got)
	}
}

func TestPool_RefusalCountsInMemoryOnly(t *testing.T) {
	p := fromProvisioner()
	p.Annotations = map[string]string{v1.AnnotationRefused: "it is broken"}
	if got := translate.Pool(p); got.Ready || got.NotReady != "it is broken" {
		t.Errorf("pool %+v", got)
	}
	p.Kind, p.Spec.Template.Spec.Requirements = v1.NodePoolKind, nil
	if got := translate.Pool(p); !got.Ready {
		t.Errorf("a NodePool of the cluster: %+v", got)
	}
}

func TestExpiresWith_FollowsThePool(t *testing.T) {
	created := time.Unix(1000, 0)
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
	p := fromProvisioner()
	for _, tc := range []struct {
		after *v1.NillableDuration
		want  time.Time
	}{
		{nil, time.Time{}},
		{&v1.NillableDuration{Never: true}, time.Time{}},
		{&v1.NillableDuration{Duration: time.Minute}, created.Add(time.Minute)},
	} {
		p.Spec.Template.Spec.ExpireAfter = tc.after
		if got := translate.ExpiresWith(p, c); !got.Equal(tc.want) {
			t.Errorf("%v: %v, want %v", tc.after, got, tc.want)
		}
	}
}
