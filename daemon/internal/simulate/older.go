package simulate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// lives are NodeClaims of an older version, by name. Their metadata and status have the form of v1,
// and say which instance and node they have; what is converted is made to be applied anew and says
// neither.
type lives map[string]*v1.NodeClaim

func livesOf(all []dump.Text) lives {
	out := lives{}
	for _, x := range all {
		if x.Kind.Kind != v1.NodeClaimKind {
			continue
		}
		claim := &v1.NodeClaim{}
		if err := yaml.Unmarshal(x.Text, claim); err == nil { // else whoever converts it says what is wrong
			out[claim.Name] = claim
		}
	}
	return out
}

// of is the object with the life that it had.
func (l lives) of(object metav1.Object) metav1.Object {
	if claim, is := object.(*v1.NodeClaim); is && l[claim.Name] != nil {
		claim.ObjectMeta, claim.Status = l[claim.Name].ObjectMeta, l[claim.Name].Status
	}
	return object
}
