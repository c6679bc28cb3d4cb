import {
  to = karpenter_interruption_queue.this
  identity = {
    cluster_name = "prod"
    name         = "prod"
  }
}
