package size

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// takenSoon is how soon the daemon is to decide on a cluster that it takes over.
const takenSoon = 5 * time.Second

// taken is what became of a fleet that Karpenter had run.
type taken struct {
	nodes                    int // of Karpenter's NodeClaims
	launched, ended, deleted int
	drifted                  int
	stamped, tagged          int // NodeClaims with the daemon's hashes, instances with its tags
}

// karpenters makes the NodeClaim as Karpenter writes it.
func karpenters(c *v1.NodeClaim) {
	c.Spec.StartupTaints = nil
	c.Annotations = map[string]string{
		v1.AnnotationMinValuesRelaxed: "false", v1.AnnotationNodePoolHash: "5948563857346738284", v1.AnnotationNodePoolHashVersion: "v3",
		awsv1.AnnotationNodeClassHash: "1146223284937738476", awsv1.AnnotationNodeClassHashVersion: "v5",
		awsv1.Group + "/tagged": "true",
	}
}

// withoutUID drops the tag that Karpenter does not have.
func withoutUID(tags []types.Tag) []types.Tag {
	return slices.DeleteFunc(tags, func(t types.Tag) bool { return *t.Key == awsspec.TagNodeClaimUID })
}

// newest returns the image with the latest release in its name.
func newest(images []types.Image) types.Image {
	return slices.MaxFunc(images, func(a, b types.Image) int { return strings.Compare(*a.Name, *b.Name) })
}

// takenOver counts what happened since then.
func (r *run) takenOver(ctx context.Context, since time.Time) (taken, error) {
	out := taken{nodes: r.claimed()}
	for _, c := range r.lab.Cloud.Calls() {
		if c.Time.Before(since) || c.ErrorCode != "" {
			continue
		}
		switch c.Action {
		case "CreateFleet":
			out.launched++
		case "TerminateInstances":
			out.ended++
		}
	}
	list, err := r.clients.NodeClaims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return out, fmt.Errorf("nodeclaims list: %w", err)
	}
	out.deleted = out.nodes - len(list.Items)
	uids := map[string]bool{}
	for i := range list.Items {
		c := &list.Items[i]
		uids[string(c.UID)] = true
		if c.DeletionTimestamp != nil {
			out.deleted++
		}
		if c.Conditions().Get(v1.ConditionDrifted).IsTrue() {
			out.drifted++
		}
		if strings.HasPrefix(c.Annotations[v1.AnnotationNodePoolHashVersion], "karpenterd-") && strings.HasPrefix(c.Annotations[awsv1.AnnotationNodeClassHashVersion], "karpenterd-") {
			out.stamped++
		}
	}
	for _, i := range r.lab.Cloud.EC2.Instances() {
		if uids[i.Tags[awsspec.TagNodeClaimUID]] {
			out.tagged++
		}
	}
	return out, nil
}

// report prints the figures.
func (t taken) report(w io.Writer, decided time.Duration) error {
	soon := "missed"
	if decided <= takenSoon {
		soon = "met"
	}
	_, err := fmt.Fprintf(w, `
taken over from Karpenter: %d nodes
launched %d, ended %d, NodeClaims deleted %d, drifted %d   required: 0 of each
first decision %s after the start                  at most %s: %s
by the end %d NodeClaims have the daemon's hashes, and %d instances its tags
`, t.nodes, t.launched, t.ended, t.deleted, t.drifted, seconds(decided), takenSoon, soon, t.stamped, t.tagged)
	return err
}
