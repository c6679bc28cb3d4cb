# Import by the name of the NodePool.
terraform import karpenter_node_pool.spot spot
