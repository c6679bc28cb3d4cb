package claim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// attempt is the last launch of a NodeClaim, as it was written on the NodeClaim before
// the call. Every retry sends this request, with the token of this attempt, so it is the
// same request to EC2, whatever has changed in the class meanwhile. A request that this
// process has not written is sent only if it follows from the NodeClaim and its class.
type attempt struct {
	number int
	frozen *frozen   // nil: the attempt launched nothing
	called time.Time // when its last call ended at the latest; zero: it was not called
	first  bool      // no call has had its token yet
	// stamp is annotations that are written with the request: the hash of the class that it
	// was made from, and the instance profile. A class that changes before the launch is then
	// found to have drifted.
	stamp map[string]string
}

// frozen is the content of the annotation.
type frozen struct {
	Began   time.Time         `json:"began"`
	Request aws.LaunchRequest `json:"request"` // without the token
}

// lastAttempt reads the attempt; its number is zero if there was none.
func lastAttempt(claim *v1.NodeClaim) (attempt, error) {
	var a attempt
	a.number, _ = strconv.Atoi(claim.Annotations[v1.AnnotationLaunchAttempt])
	text := claim.Annotations[v1.AnnotationLaunchRequest]
	if text == "" {
		return a, nil
	}
	a.frozen = &frozen{}
	if err := json.Unmarshal([]byte(text), a.frozen); err != nil {
		return a, fmt.Errorf("nodeclaim %s: annotation %s cannot be read: delete the NodeClaim: %w", claim.Name, v1.AnnotationLaunchRequest, err)
	}
	return a, nil
}

// listed says whether EC2's listings have the instance of the attempt, if it launched
// one. The last call may have come long after the attempt began, as it waited for its turn; that
// of another process, until this one started. No clock is so far behind that an attempt began
// later than now by as much: somebody else has written such a time.
func (a attempt) listed(now time.Time) bool {
	return a.frozen == nil || now.Sub(a.frozen.Began).Abs() >= listingLag && now.Sub(a.called) >= listingLag
}

// believes says whether this process has written the request that is on the NodeClaim.
// Nothing else proves who wrote an annotation: whoever may write NodeClaims may call itself
// what it likes.
func (c *Controller) believes(claim *v1.NodeClaim) bool {
	text, noted := c.written.Load(claim.Name)
	return noted && text == claim.Annotations[v1.AnnotationLaunchRequest]
}

// follows says whether the request is one that the daemon would make for the NodeClaim and
// its class as they are, but for prices and for what has no capacity at the moment.
func (a attempt) follows(want order) bool {
	if a.frozen == nil {
		return true
	}
	is, would := a.frozen.Request, want.request
	if len(is.Overrides) == 0 || slices.ContainsFunc(is.Overrides, func(x aws.Override) bool { return !want.allows(x) }) {
		return false
	}
	is.Overrides, would.Overrides = nil, nil
	return reflect.DeepEqual(is, would)
}

// stands says whether the attempt is to be tried again as it is. A new attempt could
// launch a second instance, so it begins only when the first would be listed, and only
// if it would be another request, whatever its instances cost now.
func (a attempt) stands(want order, now time.Time) bool {
	return a.frozen != nil && (!a.listed(now) || reflect.DeepEqual(unpriced(a.frozen.Request), unpriced(a.like(want))))
}

// like is the request of the order. Where the attempt has as many types as a request may
// have, it is for these types: which ones are the cheapest may have changed.
func (a attempt) like(o order) aws.LaunchRequest {
	types := map[string]bool{}
	for _, x := range a.frozen.Request.Overrides {
		types[x.InstanceType] = true
	}
	if len(types) >= typesOf(o.every) {
		o.request.Overrides = o.of(types)
	}
	return o.request
}

// unpriced is the request without its prices, in an order that does not follow from them:
// prices change every few minutes, and are no reason for another attempt.
func unpriced(r aws.LaunchRequest) aws.LaunchRequest {
	r.Overrides = slices.Clone(r.Overrides)
	for i := range r.Overrides {
		r.Overrides[i].Priority = 0
	}
	slices.SortFunc(r.Overrides, byPlace)
	return r
}

// byPlace orders overrides by what does not change.
func byPlace(a, b aws.Override) int {
	return cmp.Or(strings.Compare(a.InstanceType, b.InstanceType), strings.Compare(a.Zone, b.Zone))
}

// sameAttempt says whether both are the NodeClaim with the same attempt.
func sameAttempt(a, b *v1.NodeClaim) bool {
	return a.UID == b.UID && a.Annotations[v1.AnnotationLaunchAttempt] == b.Annotations[v1.AnnotationLaunchAttempt] &&
		a.Annotations[v1.AnnotationLaunchRequest] == b.Annotations[v1.AnnotationLaunchRequest]
}

// write writes the attempt on the NodeClaim, if that is still the version that the
// decision was made on, and returns the new version. That an attempt launched nothing is
// written on each version with this attempt: EC2 has said it, and must not be called again
// because of what else has changed.
func (a attempt) write(ctx context.Context, c *Controller, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	annotations := map[string]any{v1.AnnotationLaunchAttempt: strconv.Itoa(a.number), v1.AnnotationLaunchRequest: nil}
	if a.frozen != nil {
		data, err := json.Marshal(a.frozen)
		if err != nil {
			return nil, fmt.Errorf("nodeclaim %s launch request write: %w", claim.Name, err)
		}
		annotations[v1.AnnotationLaunchRequest] = string(data)
		for key, value := range a.stamp {
			annotations[key] = value
		}
	}
	write := func(of *v1.NodeClaim) (*v1.NodeClaim, error) {
		return c.patchClaim(ctx, of, translate.PatchOfVersion(of, map[string]any{"annotations": annotations}), "launch attempt write")
	}
	got, err := write(claim)
	for n := 1; a.frozen == nil && apierrors.IsConflict(err) && n < tries; n++ {
		live, fault := c.Claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if fault != nil || !sameAttempt(live, claim) {
			break
		}
		got, err = write(live)
	}
	if err == nil {
		c.written.Store(claim.Name, got.Annotations[v1.AnnotationLaunchRequest])
	}
	return got, err
}
