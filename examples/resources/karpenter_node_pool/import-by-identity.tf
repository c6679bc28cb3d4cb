import {
  to = karpenter_node_pool.spot
  identity = {
    name = "spot"
  }
}
