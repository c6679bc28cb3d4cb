# By its name.
terraform import karpenter_node_pool.spot spot
