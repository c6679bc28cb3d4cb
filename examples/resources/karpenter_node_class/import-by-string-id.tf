import {
  to = karpenter_node_class.default
  id = "default"
}
