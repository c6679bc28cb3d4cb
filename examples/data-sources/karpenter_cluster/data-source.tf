data "karpenter_cluster" "this" {
  name = "prod"
}

# Nodes get into the private subnets of its node groups, and into its security group.
resource "karpenter_discovery_tags" "this" {
  cluster_name       = data.karpenter_cluster.this.name
  subnet_ids         = data.karpenter_cluster.this.subnet_ids
  security_group_ids = data.karpenter_cluster.this.security_group_ids
}
