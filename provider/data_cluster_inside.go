package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/daemon"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// inside is what the Kubernetes API says of a cluster. The zero value is that of an API that
// does not answer: whoever reads the data source needs no access to it.
type inside struct {
	cluster   *daemon.Cluster
	answers   bool
	karpenter []string // signs of Karpenter, as a sentence has them
	daemon    bool     // whether our daemon is installed
}

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

// lookInside asks the API of the cluster with that name. With kubernetes in the provider's
// configuration, the cluster is the one that it reaches, as for all resources.
func (d *clusterData) lookInside(ctx context.Context, name string) inside {
	ctx, cancel := context.WithTimeout(ctx, managed.PlanCheckTimeout)
	defer cancel()
	if d.Session.EKS != nil && d.Session.EKS.ClusterName != name {
		return inside{}
	}
	client, err := d.Session.Cluster(ctx)
	if err != nil {
		tflog.Debug(ctx, "the cluster is not looked into", map[string]any{"error": err.Error()})
		return inside{}
	}
	in, err := controllersOf(ctx, daemon.NewCluster(client))
	if err != nil {
		tflog.Debug(ctx, "the cluster is not looked into", map[string]any{"error": err.Error()})
		return inside{}
	}
	return in
}

// controllersOf finds Karpenter and our daemon.
func controllersOf(ctx context.Context, c *daemon.Cluster) (inside, error) {
	in := inside{cluster: c, answers: true}
	list, err := c.Dynamic().Resource(deployments()).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name in (karpenter, " + install.DefaultName + ")"})
	if err != nil {
		return inside{}, fmt.Errorf("deployments list: %w", err)
	}
	for _, found := range list.Items {
		if found.GetLabels()["app.kubernetes.io/name"] == install.DefaultName {
			in.daemon = true
			continue
		}
		if replicas, set, _ := unstructured.NestedInt64(found.Object, "spec", "replicas"); set && replicas == 0 {
			continue // it is kept for the way back, and launches nothing
		}
		in.karpenter = append(in.karpenter, "the Deployment "+found.GetNamespace()+"/"+found.GetName())
	}
	held, err := c.HeldLeases(ctx)
	if err != nil {
		return inside{}, err
	}
	for _, lease := range held {
		if !daemon.IsDaemon(lease.Holder) {
			in.karpenter = append(in.karpenter, "the Lease "+lease.String())
		}
	}
	return in, nil
}

// hasOtherNodes tells whether the API is known to have nodes that belong to no node pool.
func (in inside) hasOtherNodes(ctx context.Context) bool {
	if !in.answers {
		return false
	}
	list, err := in.cluster.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).List(ctx, metav1.ListOptions{
		LabelSelector: "kubernetes.io/os=linux,!" + v1.LabelNodePool + ",!karpenter.sh/provisioner-name", Limit: 1,
	})
	return err == nil && len(list.Items) > 0
}

// hasAgent tells whether the cluster is known to have the Pod Identity agent, as after an
// installation of its chart.
func (in inside) hasAgent(ctx context.Context) bool {
	if !in.answers {
		return false
	}
	sets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	_, err := in.cluster.Dynamic().Resource(sets).Namespace(metav1.NamespaceSystem).Get(ctx, iamrole.PodIdentityAgent, metav1.GetOptions{})
	return err == nil
}
