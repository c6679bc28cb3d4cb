package claim

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func TestMetaPatch_LeavesAloneWhatItDoesNotName(t *testing.T) {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	got := string(translate.PatchOf(claim, metaOf(nil, map[string]string{"a": "1"})).JSON())
	if want := `{"metadata":{"annotations":{"a":"1"},"uid":"u"}}`; got != want {
		t.Errorf("patch = %s, want %s: null would remove every label", got, want)
	}
}
