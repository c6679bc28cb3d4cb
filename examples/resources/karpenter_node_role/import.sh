# By the cluster's name and the role's.
terraform import karpenter_node_role.this prod,KarpenterNodeRole-prod
