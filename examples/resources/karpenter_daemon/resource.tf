# If the same configuration makes them, write karpenter_controller_role.this.arn and
# karpenter_interruption_queue.this.name: the references set the order.
resource "karpenter_daemon" "this" {
  cluster_name = "prod"
  role_arn     = "arn:aws:iam::123456789012:role/KarpenterControllerRole-prod"
  queue_name   = "prod"

  # A mirror has the image of the provider's release under the same digest.
  image = {
    registry = "123456789012.dkr.ecr.us-west-2.amazonaws.com"
  }

  resources = {
    requests = { cpu = "1", memory = "1Gi" }
    limits   = { memory = "2Gi" }
  }
  node_selector = { "eks.amazonaws.com/nodegroup" = "system" }
  tolerations = [
    { key = "CriticalAddonsOnly", operator = "Exists" },
    { key = "dedicated", value = "system", effect = "NoSchedule" },
  ]
}
