# By its name.
terraform import karpenter_node_class.default default
