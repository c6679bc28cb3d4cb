import {
  to = karpenter_discovery_tags.this
  id = "prod"
}
