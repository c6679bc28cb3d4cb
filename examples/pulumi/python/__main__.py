"""The quick start in Python: everything that Karpenter needs on an EKS cluster, in one
`pulumi up`. The guide Pulumi says how to use it."""

import pulumi
import pulumi_karpenter as karpenter

config = pulumi.Config()
cluster_name = config.require("clusterName")
consolidate_after = config.get("consolidateAfter") or "30s"

provider = karpenter.Provider(
    "provider",
    region=config.require("region"),
    # Classes: the names in a dictionary would not become those of the provider here.
    eks=karpenter.ProviderEksArgs(cluster_name=cluster_name),
    default_tags=karpenter.ProviderDefaultTagsArgs(
        tags={"app.kubernetes.io/part-of": "karpenter"}
    ),
    # Else each preview has an update of the provider: the version of the SDK and that of the
    # plugin are compared.
    opts=pulumi.ResourceOptions(ignore_changes=["version"]),
)
options = pulumi.ResourceOptions(provider=provider)

# The cluster as it is: subnets, security group, and how pods get an IAM role.
cluster = karpenter.get_cluster_output(
    name=cluster_name, opts=pulumi.InvokeOutputOptions(provider=provider)
)

# The role of the nodes, and the access entry that lets them join the cluster.
node_role = karpenter.NodeRole(
    "nodeRole",
    name=f"KarpenterNodeRole-{cluster_name}",
    cluster_name=cluster_name,
    opts=options,
)

instance_profile = karpenter.InstanceProfile(
    "instanceProfile", name=node_role.name, role=node_role.name, opts=options
)

# The queue of spot interruption warnings and other events that end an instance.
queue = karpenter.InterruptionQueue(
    "queue", name=cluster_name, cluster_name=cluster_name, opts=options
)

# The role of the daemon. Its Kubernetes service account gets the role by the cluster's OIDC
# provider, or else by EKS Pod Identity.
controller_role = karpenter.ControllerRole(
    "controllerRole",
    name=f"KarpenterControllerRole-{cluster_name}",
    cluster_name=cluster_name,
    identity=cluster.identity,
    node_role_arn=node_role.arn,
    queue_arn=queue.arn,
    opts=options,
)

# The tag by which the node class finds subnets and security groups.
discovery = karpenter.DiscoveryTags(
    "discovery",
    cluster_name=cluster_name,
    subnet_ids=cluster.subnet_ids,
    security_group_ids=cluster.security_group_ids,
    opts=options,
)

# The account needs this role for its first spot instance. It stays after a destroy.
spot_role = karpenter.SpotServiceLinkedRole("spotRole", opts=options)

# With Pod Identity the role comes by an association, and the service account names none.
role_arn = pulumi.Output.all(cluster.identity, controller_role.arn).apply(
    lambda all: None if all[0] == "pod_identity" else all[1]
)

daemon = karpenter.Daemon(
    "daemon",
    cluster_name=cluster_name,
    queue_name=queue.name,
    role_arn=role_arn,
    needs=[controller_role.arn],
    # From the first release on: without image, it is that of the provider's release.
    image={
        "registry": config.require("imageRegistry"),
        "repository": config.require("imageRepository"),
        "digest": config.require("imageDigest"),
    },
    opts=options,
)

node_class = karpenter.NodeClass(
    "default",
    name="default",
    daemon=daemon.id,
    instance_profile=instance_profile.name,
    ami_selector_terms=[{"alias": "al2023@latest"}],
    subnet_selector_terms=[{"tags": discovery.selector_tags}],
    security_group_selector_terms=[{"tags": discovery.selector_tags}],
    opts=options,
)


def requirements(capacity_type):
    return [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity_type]},
        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
        {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]


on_demand = karpenter.NodePool(
    "onDemand",
    name="on-demand",
    node_class=node_class.name,
    requirements=requirements("on-demand"),
    disruption={"consolidate_after": consolidate_after},
    limits={"cpu": "200"},
    opts=options,
)

# A pod runs on this pool if it has the node selector node-group-type = spot and
# tolerates the taint.
spot = karpenter.NodePool(
    "spot",
    name="spot",
    node_class=node_class.name,
    labels={"node-group-type": "spot"},
    taints=[{"key": "spot", "value": "only", "effect": "NoSchedule"}],
    requirements=requirements("spot"),
    disruption={"consolidate_after": consolidate_after},
    limits={"cpu": "200"},
    opts=pulumi.ResourceOptions.merge(
        options, pulumi.ResourceOptions(depends_on=[spot_role])
    ),
)

pulumi.export("nodePools", [on_demand.name, spot.name])
pulumi.export("controllerRoleArn", controller_role.arn)
