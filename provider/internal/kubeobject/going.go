package kubeobject

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// An object that somebody is deleting stays while finalizers hold it. Kubernetes cannot take a
// deletion back. So a refresh warns of it, and an update of it is refused: the object would
// take the change, and go.

// GoingError is ErrGoing with since when the object goes and what holds it; nil if nobody
// deletes it. more says what else holds it.
func GoingError(live *unstructured.Unstructured, more ...string) error {
	at := live.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	var held []string
	if finalizers := live.GetFinalizers(); len(finalizers) > 0 {
		held = append(held, "the finalizers "+strings.Join(finalizers, ", "))
	}
	held = append(held, more...)
	by := ""
	if len(held) > 0 {
		by = ", held by " + strings.Join(held, " and ")
	}
	return fmt.Errorf("%s %w since %s%s", kube.RefOf(live), failure.ErrGoing, at.UTC().Format(time.RFC3339), by)
}

// WarnGoing adds a warning if somebody is deleting the object. next says what the next apply
// does.
func WarnGoing(b *managed.Base, diags *diag.Diagnostics, m managed.Identified, live *unstructured.Unstructured, next string, more ...string) {
	err := GoingError(live, more...)
	if err == nil {
		return
	}
	diags.AddWarning(fmt.Sprintf("%s is being deleted", live.GetKind()), fmt.Sprintf(
		"karpenter_%s %q: %v.\n\nKubernetes cannot take a deletion back. %s", b.Kind, managed.ImportID(m), err, next))
}
