package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
)

const (
	faultUser = "lab:faults"
	// faultName is the policy that keeps KWOK off nodes, its binding, and the ConfigMap
	// that names the nodes.
	faultName = "lab-broken-kubelets"
	// faultPatience is how long the API server may take to follow the policy.
	faultPatience = 30 * time.Second
)

// What is wrong with a kubelet.
const (
	stopped = "stopped"
	hung    = "hung"
)

// StopKubelet ends the kubelet of a machine: its pods stay as they are, and its node
// is NotReady as soon as it has been silent for Options.NodeGrace.
func (l *Lab) StopKubelet(ctx context.Context, node string) error {
	return l.breakKubelet(ctx, node, stopped)
}

// HangKubelet lets the kubelet of a machine send heartbeats and do nothing else: its
// node stays Ready, and its pods neither start nor end.
func (l *Lab) HangKubelet(ctx context.Context, node string) error {
	return l.breakKubelet(ctx, node, hung)
}

// breakKubelet leaves the kubelet as it is if it fails: a node of that name may join later. It
// goes on when the caller has gone: what was told an API server that is slow comes later, and
// perhaps after what takes it back.
func (l *Lab) breakKubelet(ctx context.Context, node, wrong string) error {
	ctx = context.WithoutCancel(ctx)
	err := l.setKubelet(ctx, node, wrong)
	if err != nil {
		err = errors.Join(err, l.tellKubelet(ctx, node, ""))
	}
	return err
}

// silence stops the kubelet of a machine that is powered off, under each name that it has joined
// with.
func (l *Lab) silence(ctx context.Context, instance string) error {
	nodes, err := l.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodes of instance %s list: %w", instance, err)
	}
	for _, n := range nodes.Items {
		if _, id, _ := awsspec.ParseProviderID(n.Spec.ProviderID); id != instance {
			continue
		}
		if err := l.StopKubelet(ctx, n.Name); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// ResumeKubelet lets a kubelet that was stopped or hangs work again, a moment later.
func (l *Lab) ResumeKubelet(ctx context.Context, node string) error {
	if err := l.setKubelet(ctx, node, ""); err != nil {
		return err
	}
	clients, err := l.faultClients()
	if err != nil {
		return err
	}
	pods, err := clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return fmt.Errorf("pods of node %s list: %w", node, err)
	}
	// KWOK gave up what it was refused; it looks again at what changes.
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"lab.karpenterd.sh/resumed":%q}}}`, time.Now().Format(time.RFC3339Nano))
	if _, err := clients.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("node %s wake: %w", node, err)
	}
	for _, p := range pods.Items {
		_, err := clients.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("pod %s/%s wake: %w", p.Namespace, p.Name, err)
		}
	}
	return nil
}

// faultClients may do everything: what breaks a kubelet is no part of the cluster.
func (l *Lab) faultClients() (kubernetes.Interface, error) {
	config, err := l.plane.Client(faultUser, "system:masters")
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client create: %w", err)
	}
	return clients, nil
}

// setKubelet says what is wrong with a kubelet, nothing if it is empty, and returns
// once it is in force. KWOK plays the kubelet, so the API server refuses KWOK's writes.
func (l *Lab) setKubelet(ctx context.Context, node, wrong string) error {
	ctx, cancel := context.WithTimeout(ctx, faultPatience)
	defer cancel()
	if err := l.tellKubelet(ctx, node, wrong); err != nil {
		return fmt.Errorf("kubelet of %s set to %q: %w", node, wrong, err)
	}
	config, err := l.plane.Client(controlplane.KwokUser)
	if err != nil {
		return err
	}
	kwok, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	for {
		_, err := kwok.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		if err != nil && !apierrors.IsInvalid(err) {
			return fmt.Errorf("kubelet of %s set to %q: %w", node, wrong, err)
		}
		if (err != nil) == (wrong != "") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kubelet of %s set to %q: the API server does not follow: %w", node, wrong, errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tellKubelet writes the policy, if it is not there, and the node into its ConfigMap.
func (l *Lab) tellKubelet(ctx context.Context, node, wrong string) error {
	clients, err := l.faultClients()
	if err != nil {
		return err
	}
	policies, maps := clients.AdmissionregistrationV1(), clients.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	policy, binding := faultPolicy()
	_, mapErr := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: faultName}}, metav1.CreateOptions{})
	_, policyErr := policies.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	_, bindingErr := policies.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	for _, err := range []error{mapErr, policyErr, bindingErr} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, node, wrong)
	_, err = maps.Patch(ctx, faultName, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// faultPolicy refuses what KWOK writes for nodes that the ConfigMap names; if they
// hang, their heartbeats excepted.
func faultPolicy() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	fail, allow := admissionv1.Fail, admissionv1.AllowAction
	rule := func(group string, operations []admissionv1.OperationType, resources ...string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: operations, Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
		}}
	}
	update := []admissionv1.OperationType{admissionv1.Update}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: faultName},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			ParamKind:     &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
				rule("", append(update, admissionv1.Delete), "pods", "pods/status"), rule("", update, "nodes/status"),
				rule("coordination.k8s.io", update, "leases"),
			}},
			MatchConditions: []admissionv1.MatchCondition{{Name: "kwok", Expression: fmt.Sprintf("request.userInfo.username == %q", controlplane.KwokUser)}},
			Variables: []admissionv1.Variable{
				{Name: "node", Expression: "request.resource.resource == 'pods' ? oldObject.spec.?nodeName.orValue('') : request.name"},
				{Name: "wrong", Expression: "params.?data[?variables.node].orValue('')"},
			},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf("variables.wrong == '' || variables.wrong == %q && request.resource.resource == 'leases'", hung),
				Message:    "the laboratory has broken the kubelet",
			}},
		},
	}
	return policy, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: faultName},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: faultName, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			ParamRef: &admissionv1.ParamRef{Name: faultName, Namespace: metav1.NamespaceSystem, ParameterNotFoundAction: &allow},
		},
	}
}
