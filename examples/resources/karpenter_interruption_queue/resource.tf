resource "karpenter_interruption_queue" "this" {
  cluster_name = "prod"
}
