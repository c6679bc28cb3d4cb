package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
)

// reconstruct fills an imported model with the values from which the Deployment and
// its service account were made.
// usual is the image of this build of the provider.
func (m *daemonModel) reconstruct(ctx context.Context, c *Cluster, usual install.Image) error {
	live, err := c.Get(ctx, deploymentRef(m.Namespace.ValueString()))
	if err != nil {
		return err
	}
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &deployment); err != nil {
		return fmt.Errorf("%s read: %w", kube.RefOf(live), err)
	}
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return fmt.Errorf("%s has no container: it is not the daemon's Deployment", kube.RefOf(live))
	}
	container := pod.Containers[0]
	account, err := c.Get(ctx, kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Namespace: deployment.Namespace, Name: pod.ServiceAccountName,
	})
	if err != nil {
		return err
	}
	m.ServiceAccount = types.StringValue(pod.ServiceAccountName)
	m.RoleARN = fwvalue.StringOrNull(account.GetAnnotations()[install.RoleARNAnnotation])
	var diags diag.Diagnostics
	m.Image = convert.ImageOf(ctx, install.ParseImage(container.Image), container.ImagePullPolicy, usual, &diags)
	m.ImageReference = types.StringValue(container.Image)
	if err := m.reconstructPods(ctx, c, &deployment, &diags); err != nil {
		return err
	}
	m.ClusterEndpoint = fwvalue.StringOrNull(environment(container, install.EnvClusterEndpoint))
	m.Replicas = types.Int32PointerValue(deployment.Spec.Replicas)
	m.ClusterName = types.StringValue(environment(container, install.EnvClusterName))
	m.Region = types.StringValue(environment(container, install.EnvRegion))
	m.FIPS, m.DualStack = types.BoolValue(on(container, install.EnvFIPS)), types.BoolValue(on(container, install.EnvDualStack))
	m.QueueName = fwvalue.StringOrNull(environment(container, install.EnvInterruptionQueue))
	m.Mode = types.StringValue(install.ModeActive)
	if slices.Contains(container.Args, install.ShadowArgument) {
		m.Mode = types.StringValue(install.ModeShadow)
	}
	m.LogLevel = types.StringValue(environment(container, install.EnvLogLevel))
	m.PreferencePolicy = types.StringValue(environment(container, install.EnvPreferencePolicy))
	m.Landing = types.StringValue(cmp.Or(environment(container, install.EnvLanding), install.LandingAuto))
	m.MinValuesPolicy = types.StringValue(environment(container, install.EnvMinValuesPolicy))
	m.NodeCost = types.StringValue(environment(container, install.EnvNodeCost))
	m.PauseDisruption = types.BoolValue(on(container, install.EnvPauseDisruption))
	m.reconstructMachines(container)
	if err := m.reconstructDefinitions(ctx, c); err != nil {
		return err
	}
	m.SchedulerConfig = fwvalue.StringOrNull(environment(container, install.EnvSchedulerConfig))
	m.ID, m.Wait = m.deploymentID(), types.BoolValue(true)
	own := map[string]string{}
	for key, value := range deployment.Labels {
		if _, selects := deployment.Spec.Selector.MatchLabels[key]; !selects {
			own[key] = value
		}
	}
	m.Labels = fwvalue.MapValueOrNull(own)
	shared := convert.Common(deployment.Annotations, deployment.Spec.Template.Annotations, account.GetAnnotations())
	m.Annotations = fwvalue.MapValueOrNull(shared)
	return asError(diags)
}

// on tells whether the container has the variable, and it says true.
func on(container corev1.Container, name string) bool {
	yes, err := strconv.ParseBool(environment(container, name))
	return err == nil && yes
}

// reconstructPods fills in how the pods are run.
func (m *daemonModel) reconstructPods(ctx context.Context, c *Cluster, deployment *appsv1.Deployment, diags *diag.Diagnostics) error {
	budget, err := c.budget(ctx, deployment.Namespace)
	if err != nil {
		return err
	}
	network, err := c.networkPolicy(ctx, deployment.Namespace)
	if err != nil {
		return err
	}
	m.Pods = convert.PodsOf(ctx, deployment, budget, network, diags)
	return nil
}

// reconstructDefinitions fills in what definitions in the cluster tell.
func (m *daemonModel) reconstructDefinitions(ctx context.Context, c *Cluster) error {
	served, err := c.servesLegacy(ctx)
	if err != nil {
		return err
	}
	adopted, err := c.adoptsDefinitions(ctx)
	m.LegacyAPI, m.AdoptDefinitions = types.BoolValue(served), types.BoolValue(adopted)
	return err
}

// budget is the daemon's PodDisruptionBudget; nil if there is none.
func (c *Cluster) budget(ctx context.Context, namespace string) (*policyv1.PodDisruptionBudget, error) {
	return optional[policyv1.PodDisruptionBudget](ctx, c, namespace, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"))
}

// networkPolicy is the daemon's NetworkPolicy; nil if there is none.
func (c *Cluster) networkPolicy(ctx context.Context, namespace string) (*networkingv1.NetworkPolicy, error) {
	return optional[networkingv1.NetworkPolicy](ctx, c, namespace, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
}

// optional reads an object of the daemon's name that need not be there; nil if it is not.
func optional[T any](ctx context.Context, c *Cluster, namespace string, kind schema.GroupVersionKind) (*T, error) {
	live, err := c.Get(ctx, kube.Ref{GroupVersionKind: kind, Namespace: namespace, Name: install.DefaultName})
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil //nolint:nilnil // nothing is an answer
	}
	if err != nil {
		return nil, err
	}
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &out); err != nil {
		return nil, fmt.Errorf("%s read: %w", kube.RefOf(live), err)
	}
	return &out, nil
}

func environment(c corev1.Container, name string) string {
	for _, variable := range c.Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}
