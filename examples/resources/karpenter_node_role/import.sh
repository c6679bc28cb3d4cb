# Import by the name of the cluster and the name of the role.
terraform import karpenter_node_role.this prod,KarpenterNodeRole-prod

# A role that exists, of which only the access entry is imported: by the ARN of the role.
terraform import karpenter_node_role.existing prod,arn:aws:iam::123456789012:role/nodes
