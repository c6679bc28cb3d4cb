resource "karpenter_node_role" "this" {
  cluster_name = "prod"
}

resource "karpenter_instance_profile" "this" {
  name = "KarpenterNodes-prod"
  role = karpenter_node_role.this.name
}
