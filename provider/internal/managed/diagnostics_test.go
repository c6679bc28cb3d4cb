package managed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// ids is an object that these values identify.
type ids []string

func (i ids) IDs() []string { return i }

func TestFail_NamesObjectFaultAndRemedy(t *testing.T) {
	b := Base{Kind: "node_role", Keys: []string{"cluster_name", "name"}}
	model := ids{"lab", "nodes"}
	for name, tt := range map[string]struct {
		err    error
		remedy string
	}{
		"conflict":       {aws.ErrConflict, `id = "lab,nodes"`},
		"other cluster":  {fmt.Errorf("%w: %w", failure.ErrOtherCluster, aws.ErrConflict), "shared = true"},
		"unauthorized":   {&aws.UnauthorizedError{Action: "iam:CreateRole"}, "Allow that action"},
		"credentials":    {aws.ErrCredentials, "AWS_PROFILE"},
		"unreachable":    {aws.ErrUnreachable, "region and endpoints"},
		"throttled":      {aws.ErrThrottled, "in a minute"},
		"controller":     {failure.ErrOtherController, "kubectl scale"},
		"outlived":       {failure.ErrOutlived, "No daemon is left to terminate these"},
		"another name":   {failure.ErrAnotherName, "Correct eks.cluster_name"},
		"leftovers":      {failure.ErrLeftovers, "terminate-instances"},
		"referenced":     {failure.ErrReferenced, "create_before_destroy"},
		"role in use":    {failure.ErrRoleInUse, "create_before_destroy"},
		"profile in use": {failure.ErrProfileInUse, "create_before_destroy"},
		"daemon's role":  {failure.ErrDaemonRoleInUse, "create_before_destroy"},
		"queue in use":   {failure.ErrQueueInUse, "first destroy the node pools"},
		"in use":         {aws.ErrInUse, "still uses it"},
		"deadline":       {context.DeadlineExceeded, "timeouts attribute"},
		"unknown":        {failure.ErrConfigUnknown, "one apply"},
		"still needed":   {failure.ErrStillNeeded, "karpenter_daemon.NAME.id"},
		"field conflict": {&kube.ConflictError{}, "Another tool"},
		"cluster gone":   {fmt.Errorf("%w: %w", failure.ErrClusterGone, aws.ErrNotFound), "accept_new_cluster"},
		"going":          {failure.ErrGoing, "Wait until the object is deleted"},
		"stays":          {fmt.Errorf("%w: %w", failure.ErrStaysNotReady, context.Canceled), "conditions say"},
	} {
		t.Run(name, func(t *testing.T) {
			var diags diag.Diagnostics
			b.Fail(&diags, "create", model, fmt.Errorf("role create: %w", tt.err))
			if len(diags) != 1 {
				t.Fatalf("%d diagnostics", len(diags))
			}
			text := diags[0].Summary() + " " + diags[0].Detail()
			for _, part := range []string{"Cannot create karpenter_node_role", `"lab,nodes"`, tt.err.Error(), tt.remedy} {
				if !strings.Contains(text, part) {
					t.Errorf("%q lacks %q", text, part)
				}
			}
		})
	}
}

// forbidden is what an API server says with status 403.
func forbidden(message string) error {
	return fmt.Errorf("deployment apply: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message}})
}

// late is a wait that ended with the error.
func late(kind string, err error, change func(*kube.NotReadyError)) error {
	out := &kube.NotReadyError{Object: kube.Ref{GroupVersionKind: schema.GroupVersionKind{Kind: kind}, Namespace: "karpenter", Name: "x"}, Why: "not yet", Err: err}
	if change != nil {
		change(out)
	}
	return out
}

// remedies are parts of the remedies, each of one remedy alone.
func remedies() map[string]string {
	return map[string]string{
		"new cluster": "accept_new_cluster", "longer": "timeouts attribute", "interrupted": "was interrupted", "rights": "AmazonEKSClusterAdminPolicy",
		"rule": "A rule of the cluster", "conditions": "conditions say what is missing", "containers": "lines of the containers", "pods": "kubectl describe pods",
		"no daemon": "check that the daemon runs", "finalizers": "finalizers say what holds", "going": "Wait until the object is deleted", "name": "the error says was not found",
		"gone": "deleted in between", "address": "address and the certificate authority", "import": "import {", "state rm": "terraform state rm", "identity": "does not accept the provider's identity",
		"definitions": "custom resource definitions first", "namespace": "Wait until the namespace is deleted", "again": "Apply again.", "action": "Allow that action", "credentials": "Check the AWS credentials",
		"limit": "in a minute", "kubectl scale": "kubectl scale", "shared": "shared = true", "users": "still uses it", "region": "region and endpoints",
		"replicas": "set replicas = 1", "older": "adopt_definitions = true in karpenter_daemon",
	}
}

// TestRemedy_BelongsToItsErrorAndToNoOther pairs errors with all the remedies that they get.
func TestRemedy_BelongsToItsErrorAndToNoOther(t *testing.T) {
	b := Base{Kind: "daemon", Keys: []string{"namespace"}}
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	conditions := func(e *kube.NotReadyError) { e.Conditions = []string{"Ready=Unknown"} }
	containers := func(e *kube.NotReadyError) { e.Containers = []string{"pod p waits"} }
	crowded := func(e *kube.NotReadyError) {
		e.Containers = []string{"pod p is not scheduled: 0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."}
	}
	for name, tt := range map[string]struct {
		err  error
		want string // keys of remedies
	}{
		"a policy that does not exist":         {fmt.Errorf("iam role attach: %w", aws.ErrNotFound), "name"},
		"a cluster that does not exist":        {fmt.Errorf("%w: %w", failure.ErrClusterGone, aws.ErrNotFound), "new cluster"},
		"another cluster":                      {failure.ErrWrongCluster, "new cluster"},
		"a class that stays not ready":         {fmt.Errorf("%w: %w", failure.ErrStaysNotReady, late("EC2NodeClass", context.Canceled, conditions)), "conditions"},
		"a user's interrupt":                   {late("EC2NodeClass", context.Canceled, conditions), "interrupted"},
		"an interrupt of a call to AWS":        {fmt.Errorf("%w: %w", aws.ErrInterrupted, context.Canceled), "interrupted"},
		"a class that needs time":              {late("EC2NodeClass", context.DeadlineExceeded, conditions), "conditions longer"},
		"a class that nobody looked at":        {late("EC2NodeClass", context.DeadlineExceeded, nil), "longer no daemon"},
		"a daemon whose containers crash":      {late("Deployment", context.DeadlineExceeded, containers), "containers"},
		"a daemon with too few nodes":          {late("Deployment", context.DeadlineExceeded, crowded), "replicas"},
		"a daemon whose pods are slow":         {late("Deployment", context.DeadlineExceeded, conditions), "longer pods"},
		"an object that a finalizer holds":     {late("NodePool", context.DeadlineExceeded, func(e *kube.NotReadyError) { e.Removal = true }), "finalizers longer"},
		"an API server that is away":           {late("NodePool", errors.Join(context.DeadlineExceeded, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), conditions), "address"},
		"an API server that refuses us":        {late("NodePool", errors.Join(context.DeadlineExceeded, forbidden(`User "u" cannot get resource "nodepools"`)), conditions), "rights"},
		"an object that somebody deletes":      {fmt.Errorf("NodePool %w since 2026", failure.ErrGoing), "going"},
		"a wait for one that somebody deletes": {fmt.Errorf("%w: %w", failure.ErrGoing, late("NodePool", context.Canceled, conditions)), "going"},
		"a namespace that somebody deletes":    {terminating, "namespace"},
		"rights that lack":                     {forbidden(`deployments.apps "karpenterd" is forbidden: User "u" cannot patch resource "deployments"`), "rights"},
		"a webhook":                            {forbidden(`admission webhook "validate.kyverno.svc" denied the request: no latest tag`), "rule"},
		"a policy of the cluster":              {forbidden(`ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), "rule"},
		"a quota":                              {forbidden(`pods "x" is forbidden: exceeded quota: q, requested: pods=1`), "rule"},
		"a certificate for another name":       {&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}}, "address"},
		"an object that went in between":       {fmt.Errorf("NodePool read: %w", kube.ErrNotFound), "gone"},
		"a kind without a definition":          {fmt.Errorf("NodePool create: %w", kube.ErrKindNotServed), "definitions"},
		"an object of that name":               {kube.ErrExists, "import"},
		"another object in place of ours":      {failure.ErrOtherObject, "import state rm"},
		"AWS refuses":                          {&aws.UnauthorizedError{Action: "iam:CreateRole"}, "action"},
		"AWS does not know us":                 {aws.ErrCredentials, "credentials"},
		"AWS is busy":                          {aws.ErrThrottled, "limit"},
		"AWS cannot be reached":                {aws.ErrUnreachable, "region"},
		"somebody else writes":                 {aws.ErrConcurrent, "again"},
		"something is in use":                  {aws.ErrInUse, "users"},
		"a drain that needs time":              {fmt.Errorf("3 NodeClaims still exist: %w", context.DeadlineExceeded), "longer"},
		"another controller":                   {failure.ErrOtherController, "kubectl scale"},
		"a tag of another cluster":             {fmt.Errorf("%w: %w", failure.ErrOtherCluster, aws.ErrConflict), "shared"},
		"a state without a record":             {failure.ErrUnproven, "state rm"},
		"a definition that lacks a field":      {errors.New(`failed to create typed patch object (/x; karpenter.k8s.aws/v1, Kind=EC2NodeClass): .spec.kubelet.imageMaximumGCAge: field not declared in schema`), "older"},
	} {
		var got []string
		text := b.Remedy("karpenter", fmt.Errorf("daemon do: %w", tt.err))
		for _, key := range slices.Sorted(maps.Keys(remedies())) {
			if strings.Contains(text, remedies()[key]) {
				got = append(got, key)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got the remedies %q, want %q: %s", name, strings.Join(got, " "), tt.want, text)
		}
	}
}
