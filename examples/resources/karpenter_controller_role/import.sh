# By the cluster's name and the role's.
terraform import karpenter_controller_role.this prod,KarpenterControllerRole-prod
