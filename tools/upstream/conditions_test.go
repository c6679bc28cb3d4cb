package upstream

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	theirs "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// conditioned is an object of Karpenter's types.
type conditioned interface {
	StatusConditions(...status.ForOption) status.ConditionSet
}

// A program with Karpenter's types takes an object for ready only if the object has each
// condition that they count.
func TestConditions_ReadyDependsOnThoseOfKarpenter(t *testing.T) {
	theirs.CapacityReservationsEnabled = true
	meta, now := metav1.ObjectMeta{Name: "x", Generation: 3}, time.Unix(1000, 0)
	pool, claim, class := &v1.NodePool{ObjectMeta: meta}, &v1.NodeClaim{ObjectMeta: meta}, &awsv1.EC2NodeClass{ObjectMeta: meta}
	for name, x := range map[string]struct {
		ours  any
		set   v1.ConditionSet
		list  *[]v1.Condition
		blank conditioned
		read  conditioned
	}{
		v1.NodePoolKind:        {pool, pool.Conditions(), &pool.Status.Conditions, &karpv1.NodePool{}, &karpv1.NodePool{}},
		v1.NodeClaimKind:       {claim, claim.Conditions(), &claim.Status.Conditions, &karpv1.NodeClaim{}, &karpv1.NodeClaim{}},
		awsv1.EC2NodeClassKind: {class, class.Conditions(), &class.Status.Conditions, &theirs.EC2NodeClass{}, &theirs.EC2NodeClass{}},
	} {
		x.set.Set(v1.ConditionReady, "", "", "", now) // computed, with all that it depends on
		var have, want []string
		for _, c := range *x.list {
			have = append(have, c.Type)
		}
		for _, c := range x.blank.StatusConditions().List() {
			want = append(want, c.Type)
		}
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: Ready is of %v, by Karpenter's types of %v", name, have, want)
		}
		for _, c := range have {
			x.set.SetTrue(c, now)
		}
		data, err := json.Marshal(x.ours)
		if err == nil {
			err = json.Unmarshal(data, x.read)
		}
		if root := x.read.StatusConditions().Root(); err != nil || !root.IsTrue() || root.ObservedGeneration != 3 {
			t.Errorf("%s: a ready object is read as %+v, %v", name, root, err)
		}
	}
}
