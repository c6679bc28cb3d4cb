import {
  to = karpenter_node_role.this
  id = "prod,KarpenterNodeRole-prod"
}

# A role that exists, of which only the access entry is imported.
import {
  to = karpenter_node_role.existing
  id = "prod,arn:aws:iam::123456789012:role/nodes"
}
