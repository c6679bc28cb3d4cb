# A role that exists gets its access entry only.
resource "karpenter_node_role" "existing" {
  cluster_name      = "prod"
  existing_role_arn = "arn:aws:iam::123456789012:role/nodes"
}
