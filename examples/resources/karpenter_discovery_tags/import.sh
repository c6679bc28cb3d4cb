# Import by the name of the cluster: finds the subnets and security groups with its tag.
# A destroy does not remove imported tags.
terraform import karpenter_discovery_tags.this prod
