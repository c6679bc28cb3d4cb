resource "karpenter_node_role" "this" {
  cluster_name = "prod"
}

resource "karpenter_interruption_queue" "this" {
  cluster_name = "prod"
}

resource "karpenter_controller_role" "this" {
  cluster_name  = "prod"
  node_role_arn = karpenter_node_role.this.arn
  queue_arn     = karpenter_interruption_queue.this.arn
}
