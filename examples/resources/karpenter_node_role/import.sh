# Import by the name of the cluster and the name of the role.
terraform import karpenter_node_role.this prod,KarpenterNodeRole-prod
