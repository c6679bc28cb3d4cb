# Import by the name of the EC2NodeClass.
terraform import karpenter_node_class.default default
