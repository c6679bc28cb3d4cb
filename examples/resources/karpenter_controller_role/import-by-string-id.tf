import {
  to = karpenter_controller_role.this
  id = "prod,KarpenterControllerRole-prod"
}
