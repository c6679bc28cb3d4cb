import {
  to = karpenter_node_class.default
  identity = {
    name = "default"
  }
}
