package drifted

import (
	"maps"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
)

// Foresee returns the NodeClaims that a sweep would write, as it would leave them: with hashes of
// this version, and with the condition Drifted or without. It knows what the objects say, asks
// nobody and writes nothing.
func Foresee(w Objects, now time.Time) (out []*v1.NodeClaim) {
	known := newKnowledge()
	known.now = now
	for _, p := range w.NodePools() {
		known.readPool(p)
	}
	for _, c := range w.EC2NodeClasses() {
		known.readClass(c)
	}
	known.readTypes(w)
	for _, claim := range w.NodeClaims() {
		if !judged(claim) {
			continue
		}
		e := known.evidence(claim)
		stamp := drift.Restamp(claim, e.Pool, e.Class)
		if len(stamp) > 0 {
			claim = claim.DeepCopy()
			if claim.Annotations == nil {
				claim.Annotations = map[string]string{}
			}
			maps.Copy(claim.Annotations, stamp)
			e.Claim = claim
		}
		want := settled(claim, drift.Judge(e), now)
		switch {
		case want != nil:
			out = append(out, want)
		case len(stamp) > 0:
			out = append(out, claim)
		}
	}
	return out
}
