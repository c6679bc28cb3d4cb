package lab

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/cloudctl"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/webhook"
)

// issuerUser reads the published keys of the OIDC issuer.
const issuerUser = "eks:oidc-issuer"

// webhookUser is the pod identity webhook.
const webhookUser = "eks:pod-identity-mutating-webhook"

// nodeAnnotations mark the nodes that KWOK keeps alive.
func nodeAnnotations() map[string]string {
	return map[string]string{controlplane.NodeAnnotation: controlplane.NodeAnnotationValue}
}

// furnish gives the cluster what an EKS cluster has from the beginning.
func (l *Lab) furnish(ctx context.Context) error {
	if err := l.registerCluster(); err != nil {
		return err
	}
	if err := l.bindAccessPolicies(ctx); err != nil {
		return err
	}
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	if err := controlplane.Bind(ctx, l.Admin, cloudctl.Role(), user(cloudctl.User)); err != nil {
		return err
	}
	if err := l.bind(ctx, issuerUser, "system:service-account-issuer-discovery", user(issuerUser)); err != nil {
		return err
	}
	if err := l.createDNSService(ctx); err != nil {
		return err
	}
	return l.installWebhook(ctx, user(webhookUser))
}

// installWebhook lets the pod identity webhook read service accounts, as itself.
func (l *Lab) installWebhook(ctx context.Context, self rbacv1.Subject) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: webhookUser}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"get"}},
	}}
	if err := controlplane.Bind(ctx, l.Admin, role, self); err != nil {
		return err
	}
	config, err := l.plane.Client(webhookUser)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	return l.hook.Install(ctx, l.Admin, webhook.Accounts{Clients: clients}, l.CA)
}

// bindAccessPolicies gives EKS's access policies their meaning where they are
// associated over the whole cluster. EKS has an authorizer of its own for
// them; here each is a group bound to the cluster role that it stands for.
func (l *Lab) bindAccessPolicies(ctx context.Context) error {
	for policy, role := range map[string]string{
		"AmazonEKSClusterAdminPolicy": "cluster-admin",
		"AmazonEKSAdminPolicy":        "admin",
		"AmazonEKSEditPolicy":         "edit",
		"AmazonEKSViewPolicy":         "view",
	} {
		group := rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: awssim.PolicyGroup(policy)}
		if err := l.bind(ctx, group.Name, role, group); err != nil {
			return err
		}
	}
	return nil
}

// bind binds an existing cluster role.
func (l *Lab) bind(ctx context.Context, name, role string, subject rbacv1.Subject) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
	if _, err := l.Admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster role binding %s create: %w", name, err)
	}
	return nil
}

// createDNSService makes kube-dns, whose address machines are told.
func (l *Lab) createDNSService(ctx context.Context) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-dns", Labels: map[string]string{"k8s-app": "kube-dns"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: dnsServiceIP, Selector: map[string]string{"k8s-app": "kube-dns"},
			Ports: []corev1.ServicePort{{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53}, {Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: 53}},
		},
	}
	if _, err := l.Admin.CoreV1().Services(service.Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("service kube-dns create: %w", err)
	}
	return nil
}
