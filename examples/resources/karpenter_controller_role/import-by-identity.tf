import {
  to = karpenter_controller_role.this
  identity = {
    cluster_name = "prod"
    name         = "KarpenterControllerRole-prod"
  }
}
