import {
  to = karpenter_node_pool.spot
  id = "spot"
}
