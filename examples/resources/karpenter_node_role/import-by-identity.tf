import {
  to = karpenter_node_role.this
  identity = {
    cluster_name = "prod"
    name         = "KarpenterNodeRole-prod"
  }
}

# A role that exists, of which only the access entry is imported.
import {
  to = karpenter_node_role.existing
  identity = {
    cluster_name = "prod"
    name         = "arn:aws:iam::123456789012:role/nodes"
  }
}
