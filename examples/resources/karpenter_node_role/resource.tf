resource "karpenter_node_role" "this" {
  cluster_name = "prod"
}
