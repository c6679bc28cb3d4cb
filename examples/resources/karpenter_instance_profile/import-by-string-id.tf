import {
  to = karpenter_instance_profile.this
  id = "KarpenterNodes-prod"
}
