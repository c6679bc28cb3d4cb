resource "karpenter_daemon" "this" {
  cluster_name = "prod"
  role_arn     = karpenter_controller_role.this.arn
  queue_name   = karpenter_interruption_queue.this.name
}
