package daemon

import (
	"cmp"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework-validators/int32validator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int32default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// machineAttributes say what the daemon assumes of all instances and of the network that it is in,
// and how it writes its log.
func machineAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"reserved_enis": schema.Int32Attribute{
			Optional: true, Computed: true, Default: int32default.StaticInt32(0),
			MarkdownDescription: "How many network interfaces of each instance pods do not use, such as `1` with custom networking of the VPC CNI. Plans count the pods of the others, " +
				"and the user data of new nodes tells the kubelet that number, where `max_pods` of `karpenter_node_class` is not set. With images of the family `Custom`, your own user data must do so. Default `0`.",
			Validators: []validator.Int32{int32validator.Between(0, install.MostReservedENIs)},
		},
		"vm_memory_overhead_percent": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultMemoryOverhead),
			MarkdownDescription: "Which part of the memory that EC2 names the nodes do not report, from 0 to below 1: a part and no percentage, although Karpenter has named it so. " +
				"Where nodes have reported less than that leaves, the report counts. Default `" + install.DefaultMemoryOverhead + "`.",
			Validators: []validator.String{validate.Is(install.CheckMemoryOverhead)},
		},
		"cluster_ca_bundle": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Certificates by which nodes know the API server, PEM in base64, such as of a proxy at `cluster_endpoint`. New nodes get them in their user data. " +
				"Default: those that EKS reports.",
			Validators: []validator.String{validate.Is(install.CheckClusterCA)},
		},
		"log_keys": choiceAttribute("Keys of the log, which is JSON. `karpenter`: `level`, `time`, `logger` and `message`, as Karpenter's log has them, so that saved queries by these keys find the daemon's lines, too; messages and further fields are the daemon's own. "+
			"`hclog`: `@level`, `@timestamp`, `@module` and `@message`, as Terraform's.", install.LogKeysKarpenter, install.LogKeys()),
		"isolated_vpc": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "The network of the daemon has no way to the public endpoints of AWS. Then the Price List is not asked: on-demand prices are those that the daemon was built with. " +
				"IAM is asked only for node classes with `role`, which need it: use `instance_profile` instead. Default `false`.",
		},
	}
}

// reconstructMachines fills an imported model with what the container is told. A daemon that an
// older release deployed is told nothing, which means the defaults.
func (m *daemonModel) reconstructMachines(c corev1.Container) {
	enis, _ := strconv.ParseInt(environment(c, install.EnvReservedENIs), 10, 32)
	m.ReservedENIs = types.Int32Value(int32(enis))
	m.MemoryOverhead = types.StringValue(cmp.Or(environment(c, install.EnvMemoryOverhead), install.DefaultMemoryOverhead))
	m.ClusterCA = fwvalue.StringOrNull(environment(c, install.EnvClusterCA))
	isolated, err := strconv.ParseBool(environment(c, install.EnvIsolatedVPC))
	m.IsolatedVPC = types.BoolValue(err == nil && isolated)
	m.LogKeys = types.StringValue(cmp.Or(environment(c, install.EnvLogKeys), install.LogKeysKarpenter))
}
