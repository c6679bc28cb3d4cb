package controlplane

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// NodeAnnotation marks the nodes that KWOK keeps alive.
const (
	NodeAnnotation      = "kwok.x-k8s.io/node"
	NodeAnnotationValue = "fake"
)

// TerminationAnnotation on a pod is how long it takes to end once it is deleted, such
// as 500ms; a pod without it takes its whole grace period.
const TerminationAnnotation = "lab.karpenterd.sh/termination"

// KwokUser is KWOK's own identity.
const KwokUser = "system:kwok"

//go:embed stages/*.yaml
var stageFiles embed.FS

// stages is KWOK's configuration: what becomes of nodes and pods, and when.
func stages(bootstrapNodes []string) ([]byte, error) {
	if bootstrapNodes == nil {
		bootstrapNodes = []string{}
	}
	names, err := json.Marshal(bootstrapNodes) // a JSON list is a jq list too
	if err != nil {
		return nil, fmt.Errorf("stages write: %w", err)
	}
	var parts []string
	for _, name := range []string{"stages/node.yaml", "stages/pod.yaml"} {
		raw, err := stageFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("stages read: %w", err)
		}
		parts = append(parts, string(raw))
	}
	return []byte(strings.ReplaceAll(strings.Join(parts, "---\n"), "any(BOOTSTRAP[]", "any("+string(names)+"[]")), nil
}

func (c *ControlPlane) startKwok(ctx context.Context) error {
	if err := c.allowKwok(ctx); err != nil {
		return err
	}
	config, err := c.componentKubeconfig(KwokUser)
	if err != nil {
		return err
	}
	content, err := stages(c.options.BootstrapNodes)
	if err != nil {
		return err
	}
	path, err := c.write("stages.yaml", content)
	if err != nil {
		return err
	}
	lease := 40 // seconds, as kubelets have it; KWOK renews it four times in them
	if d := c.options.NodeGrace; d > 0 {
		lease = max(1, int(d*4/5/time.Second))
	}
	_, err = c.run("kwok", c.options.Binaries.Kwok, []string{
		"--kubeconfig=" + config, "--config=" + path,
		"--manage-nodes-with-annotation-selector=" + NodeAnnotation + "=" + NodeAnnotationValue,
		fmt.Sprintf("--node-lease-duration-seconds=%d", lease),
		"--cidr=100.64.0.0/16", // pod addresses, outside the VPC's own range
	})
	return err
}

// allowKwok gives KWOK what a fleet of kubelets would be allowed.
func (c *ControlPlane) allowKwok(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		return fmt.Errorf("kwok role create: %w", err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: KwokUser}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/status", "pods/status"}, Verbs: []string{"patch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "patch", "update", "delete"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "create", "patch", "update"}},
	}}
	return Bind(ctx, clients, role, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: KwokUser})
}

// Bind creates a cluster role and binds it to subjects under the same name.
func Bind(ctx context.Context, clients kubernetes.Interface, role *rbacv1.ClusterRole, subjects ...rbacv1.Subject) error {
	if _, err := clients.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster role %s create: %w", role.Name, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   subjects,
	}
	if _, err := clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster role binding %s create: %w", binding.Name, err)
	}
	return nil
}
