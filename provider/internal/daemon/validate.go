package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// ValidateConfig refuses values that do not fit each other, and names that are taken.
func (r *daemon) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config, ok := managed.Get[daemonModel](ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	object := func(at path.Path, err error) {
		if err != nil {
			resp.Diagnostics.AddAttributeError(at, "Invalid karpenter_daemon", fmt.Sprintf("%s: %v.", at, err))
		}
	}
	config.checkNames(object)
	object(path.Root("service_account"), config.checkAccount())
	var diags diag.Diagnostics
	pods := config.Install(ctx, &diags)
	if diags.HasError() {
		return // a validator of the attribute has said it
	}
	if pods.Resources != nil && fwvalue.WhollyKnown(ctx, config.Resources) && !negative(pods.Resources.Requests, pods.Resources.Limits) {
		object(path.Root("resources"), install.CheckResources(*pods.Resources))
	}
	if fwvalue.WhollyKnown(ctx, config.Tolerations) {
		for i, toleration := range pods.Tolerations {
			object(path.Root("tolerations").AtListIndex(i), install.CheckToleration(toleration))
		}
	}
	if fwvalue.WhollyKnown(ctx, config.PodDisruptionBudget, config.Replicas) && !config.PodDisruptionBudget.IsNull() {
		replicas := config.Replicas.ValueInt32()
		if config.Replicas.IsNull() {
			replicas = install.DefaultReplicas
		}
		object(path.Root("pod_disruption_budget"), pods.Budget.Check(replicas))
	}
	object(path.Root("health_probe_port"), config.checkPorts())
}

// negative tells whether an amount is, which a validator of the attribute says.
func negative(lists ...corev1.ResourceList) bool {
	for _, list := range lists {
		for _, amount := range list {
			if amount.Sign() < 0 {
				return true
			}
		}
	}
	return false
}

// checkNames reports the names in maps that the installation itself sets.
func (m daemonModel) checkNames(object func(path.Path, error)) {
	each := func(attribute string, of types.Map, check func(name string) error) {
		for _, name := range slices.Sorted(maps.Keys(of.Elements())) {
			object(path.Root(attribute).AtMapKey(name), check(name))
		}
	}
	each("environment", m.Environment, checkEnvironment)
	each("annotations", m.Annotations, checkDaemonAnnotation)
	each("pod_annotations", m.PodAnnotations, checkDaemonAnnotation)
	object(path.Root("node_selector"), install.CheckNodeSelector(fwvalue.StringMap(m.NodeSelector)))
}

// checkEnvironment says which attribute has the setting, if the name is that of one.
func checkEnvironment(name string) error {
	if attribute, there := settingAttributes()[name]; there {
		return fmt.Errorf("%s is a setting of the daemon that has an attribute: remove it here, and set %s", name, attribute)
	}
	if reason, there := settingsWithout()[name]; there {
		return fmt.Errorf("%s cannot be set: %s: remove it", name, reason)
	}
	return install.CheckEnvironment(name)
}

// checkAccount refuses a shadow with the service account that is Karpenter's in most clusters.
func (m daemonModel) checkAccount() error {
	if !m.shadow() || m.ServiceAccount.IsUnknown() || m.ServiceAccount.ValueString() != "" && m.ServiceAccount.ValueString() != install.DefaultServiceAccount {
		return nil
	}
	return fmt.Errorf("%q is that of Karpenter in most clusters, with all its rights: give a shadow one of its own, such as service_account = %q", install.DefaultServiceAccount, install.DefaultName)
}

func checkDaemonAnnotation(key string) error {
	if key == install.RoleARNAnnotation {
		return fmt.Errorf("it names the role of the daemon, which has an attribute: remove it here, and set role_arn")
	}
	return install.CheckAnnotation(key)
}

func (m daemonModel) checkPorts() error {
	metrics, health := int32(install.MetricsPort), int32(install.HealthProbePort)
	if !fwvalue.Known(m.MetricsPort, m.HealthProbePort) {
		return nil
	}
	if !m.MetricsPort.IsNull() {
		metrics = m.MetricsPort.ValueInt32()
	}
	if !m.HealthProbePort.IsNull() {
		health = m.HealthProbePort.ValueInt32()
	}
	if metrics == health {
		return fmt.Errorf("metrics_port is %d, too: give each its own port", health)
	}
	return nil
}
