# From nothing to pods on nodes that come when they are needed, in one apply: a VPC, an
# EKS cluster with a small node group for the daemon, and everything of Karpenter. One
# destroy removes it all. No depends_on is needed: the references set the order.
#
# The project's tests plan and apply the blocks of the Karpenter provider as they are
# here, on a cluster of a laboratory. The modules' blocks and the AWS provider are not
# tested there; they are written after the modules' documentation and source.

terraform {
  required_version = ">= 1.11"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
    karpenter = {
      source = "karpenterd/karpenter"
    }
  }
}

provider "aws" {
  region = var.region

  # karpenter_discovery_tags sets these tags on subnets and security groups of the modules.
  ignore_tags {
    key_prefixes = ["karpenter.sh/"]
  }
}

# The cluster does not exist yet when the first plan is made.
provider "karpenter" {
  region = var.region
  eks = {
    cluster_name = module.eks.cluster_name
  }
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 6.0"

  name = var.name
  cidr = var.cidr

  azs             = var.zones
  private_subnets = [for i in range(length(var.zones)) : cidrsubnet(var.cidr, 4, i)]
  public_subnets  = [for i in range(length(var.zones)) : cidrsubnet(var.cidr, 8, i + 240)]

  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name               = var.name
  kubernetes_version = var.kubernetes_version

  # Terraform reaches the cluster from outside the VPC, as whoever runs it.
  endpoint_public_access                   = true
  enable_cluster_creator_admin_permissions = true

  # The daemon's pods get their role by the cluster's OIDC issuer.
  enable_irsa = true

  addons = {
    coredns    = {}
    kube-proxy = {}
    vpc-cni    = { before_compute = true } # nodes are not ready without it
  }

  vpc_id     = module.vpc.vpc_id
  subnet_ids = module.vpc.private_subnets

  # The daemon does not run on nodes that it may remove.
  eks_managed_node_groups = {
    daemon = {
      instance_types = ["m6i.large"]
      min_size       = 2
      max_size       = 3
      desired_size   = 2
    }
  }
}

# For node pools with spot capacity. A role that the account has already is adopted.
resource "karpenter_spot_service_linked_role" "this" {}

resource "karpenter_node_role" "this" {
  cluster_name = module.eks.cluster_name
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

resource "karpenter_interruption_queue" "this" {
  cluster_name = module.eks.cluster_name
}

resource "karpenter_controller_role" "this" {
  cluster_name  = module.eks.cluster_name
  node_role_arn = karpenter_node_role.this.arn
  queue_arn     = karpenter_interruption_queue.this.arn
}

# Nodes of node pools are in the subnets and in the security group of the node group.
resource "karpenter_discovery_tags" "this" {
  cluster_name       = module.eks.cluster_name
  subnet_ids         = module.vpc.private_subnets
  security_group_ids = [module.eks.node_security_group_id]
}

resource "karpenter_daemon" "this" {
  cluster_name = module.eks.cluster_name
  role_arn     = karpenter_controller_role.this.arn
  queue_name   = karpenter_interruption_queue.this.name
  image        = var.image # null: the image of the provider's release

  # What nothing else here refers to, and what must be there as long as nodes are drained:
  # a destroy leaves it alone until the daemon is gone.
  needs = concat(
    [for group in module.eks.eks_managed_node_groups : group.node_group_arn],
    [for addon in module.eks.cluster_addons : addon.arn],
    [module.eks.oidc_provider_arn, karpenter_spot_service_linked_role.this.arn],
    module.vpc.private_nat_gateway_route_ids,
    module.vpc.private_route_table_association_ids,
    [module.vpc.public_internet_gateway_route_id],
    module.vpc.public_route_table_association_ids,
  )
}

resource "karpenter_node_class" "default" {
  name             = "default"
  daemon           = karpenter_daemon.this.id
  instance_profile = karpenter_instance_profile.this.name

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = karpenter_discovery_tags.this.selector_tags }]
  security_group_selector_terms = [{ tags = karpenter_discovery_tags.this.selector_tags }]
}

resource "karpenter_node_pool" "default" {
  name       = "default"
  node_class = karpenter_node_class.default.name

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
  ]

  limits = {
    cpu = "200"
  }
}
