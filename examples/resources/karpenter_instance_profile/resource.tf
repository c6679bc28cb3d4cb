resource "karpenter_instance_profile" "this" {
  name = "KarpenterNodes-prod"
  role = karpenter_node_role.this.name
}
