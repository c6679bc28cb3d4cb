package failure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// waitRemedy says what to do where an object goes, is refused by a rule of the cluster, or is
// not as wanted in time; "" for any other error. An interrupted wait is another error: nothing is wrong with its object. So is
// a wait that ends while the API server does not answer.
func waitRemedy(err error) string {
	switch {
	case errors.Is(err, ErrGoing):
		return "The object was not changed, or will be deleted with the change: Kubernetes cannot take a deletion back. Wait until the object is deleted, then apply again: the next plan creates it anew. " +
			"The finalizer karpenter.sh/termination is removed when the nodes are deleted (kubectl get nodeclaims); any other finalizer is removed by the program that set it."
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "Somebody is deleting the namespace, which cannot be taken back. Wait until the namespace is deleted, then apply again."
	case refusedByRule(err):
		return "A rule of the cluster refuses the object, and the message names the rule. Change the configuration so that it keeps the rule, or change the rule, then apply again."
	case errors.Is(err, ErrStaysNotReady):
		return "The conditions say what is missing. Correct it in the configuration or in AWS, then apply again: nothing is replaced, and the apply waits again."
	}
	var late *kube.NotReadyError
	var status apierrors.APIStatus
	if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &status) || errors.As(err, new(*net.OpError)) {
		return ""
	}
	longer := "If it only needs more time, raise the limit of the operation in the timeouts attribute."
	switch {
	case late.Removal:
		return "The finalizers say what holds the object: each is removed by the program that set it, so check that this program runs. Then apply or destroy again. " + longer
	case late.Object.Kind == "Deployment" && strings.Contains(strings.Join(late.Containers, "\n"), "didn't match pod anti-affinity rules"): // so says the scheduler
		return "Each replica takes a node of its own, and there are too few nodes that may have one. Add a node, set replicas = 1, or let replicas share a node with affinity = { pod_anti_affinity = {} }. Then apply again: nothing is replaced, and the apply waits again."
	case late.Object.Kind == "Deployment" && len(late.Containers) > 0:
		return fmt.Sprintf("The lines of the containers say why the pods do not run. Correct that, then apply again: nothing is replaced, and the apply waits again. For the whole log, run kubectl logs -n %s -l app.kubernetes.io/name=%s --tail=50.",
			late.Object.Namespace, install.DefaultName)
	case late.Object.Kind == "Deployment":
		return fmt.Sprintf("Look at the pods: kubectl describe pods -n %s -l app.kubernetes.io/name=%s. %s", late.Object.Namespace, install.DefaultName, longer)
	case len(late.Conditions) == 0:
		return fmt.Sprintf("Nobody has looked at the object yet: check that the daemon runs (kubectl get deployments -A -l app.kubernetes.io/name=%s). %s", install.DefaultName, longer)
	}
	return "The conditions say what is missing. Correct it, then apply again: nothing is replaced, and the apply waits again. " + longer
}

// refusedByRule tells whether the API server knows the provider and lets it make the request, but
// a rule refuses the object: a webhook, a policy, a quota. The API server says 403 to these, too.
func refusedByRule(err error) bool {
	text := err.Error()
	for _, part := range []string{"denied the request", "denied request", "exceeded quota", "violates PodSecurity", "is forbidden: maximum", "is forbidden: minimum"} {
		if strings.Contains(text, part) {
			return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
		}
	}
	return false
}
