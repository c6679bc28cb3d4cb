# Import by the name of the role, which AWS gives.
terraform import karpenter_spot_service_linked_role.this AWSServiceRoleForEC2Spot
