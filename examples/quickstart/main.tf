# Everything that Karpenter needs on an EKS cluster, in one apply: IAM roles,
# discovery tags, the interruption queue, the daemon, a node class and two node
# pools. What the cluster lacks for it is an error of the plan.

terraform {
  required_version = ">= 1.11"
  required_providers {
    karpenter = {
      source = "karpenterd/karpenter"
    }
  }
}

provider "karpenter" {
  region = var.region
  eks = {
    cluster_name = var.cluster_name
  }
  default_tags = {
    tags = {
      "app.kubernetes.io/part-of" = "karpenter"
    }
  }
}

# The cluster as it is: subnets, security group, and how pods get an IAM role.
data "karpenter_cluster" "this" {
  name = var.cluster_name
}

# The role of the nodes, and the access entry that lets them join the cluster.
resource "karpenter_node_role" "this" {
  cluster_name = var.cluster_name
}

resource "karpenter_instance_profile" "this" {
  name = karpenter_node_role.this.name
  role = karpenter_node_role.this.name

  # After a new name, nodes keep the instance profile and the role that they have until
  # they are replaced.
  lifecycle {
    create_before_destroy = true
  }
}

# The queue of spot interruption warnings and other events that end an instance.
resource "karpenter_interruption_queue" "this" {
  cluster_name = var.cluster_name
}

# The role of the daemon. Its Kubernetes service account gets the role by the cluster's OIDC
# provider, or else by EKS Pod Identity.
resource "karpenter_controller_role" "this" {
  cluster_name  = var.cluster_name
  identity      = data.karpenter_cluster.this.identity
  node_role_arn = karpenter_node_role.this.arn
  queue_arn     = karpenter_interruption_queue.this.arn
}

# The tag by which the node class finds subnets and security groups: the private subnets of
# its node groups, and its cluster security group. If node groups have a security group of
# their own, as terraform-aws-eks makes one, name its id, too: nodes must reach each other.
resource "karpenter_discovery_tags" "this" {
  cluster_name       = var.cluster_name
  subnet_ids         = data.karpenter_cluster.this.subnet_ids
  security_group_ids = data.karpenter_cluster.this.security_group_ids
}

# The account needs this role for its first spot instance. A role that is there is adopted,
# and the role stays after a destroy: other clusters of the account may need it.
resource "karpenter_spot_service_linked_role" "this" {}

resource "karpenter_daemon" "this" {
  cluster_name = var.cluster_name
  queue_name   = karpenter_interruption_queue.this.name
  image        = var.image # null: the image of the provider's release

  # With Pod Identity the role comes by an association, and the service account names none.
  role_arn = data.karpenter_cluster.this.identity == "pod_identity" ? null : karpenter_controller_role.this.arn
  needs    = [karpenter_controller_role.this.arn]
}

resource "karpenter_node_class" "default" {
  name             = "default"
  daemon           = karpenter_daemon.this.id
  instance_profile = karpenter_instance_profile.this.name

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = karpenter_discovery_tags.this.selector_tags }]
  security_group_selector_terms = [{ tags = karpenter_discovery_tags.this.selector_tags }]
}

resource "karpenter_node_pool" "on_demand" {
  name       = "on-demand"
  node_class = karpenter_node_class.default.name

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
  ]

  disruption = {
    consolidate_after = var.consolidate_after
  }
  limits = {
    cpu = "200"
  }
}

# A pod runs on this pool if it has the node selector node-group-type = spot and
# tolerates the taint.
resource "karpenter_node_pool" "spot" {
  name       = "spot"
  node_class = karpenter_node_class.default.name
  depends_on = [karpenter_spot_service_linked_role.this]

  labels = {
    node-group-type = "spot"
  }
  taints = [{ key = "spot", value = "only", effect = "NoSchedule" }]

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
  ]

  disruption = {
    consolidate_after = var.consolidate_after
  }
  limits = {
    cpu = "200"
  }
}
