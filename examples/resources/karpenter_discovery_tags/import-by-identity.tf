import {
  to = karpenter_discovery_tags.this
  identity = {
    cluster_name = "prod"
  }
}
