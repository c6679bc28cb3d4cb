import {
  to = karpenter_instance_profile.this
  identity = {
    name = "KarpenterNodes-prod"
  }
}
