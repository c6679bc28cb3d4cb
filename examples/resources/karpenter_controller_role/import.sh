# Import by the name of the cluster and the name of the role.
terraform import karpenter_controller_role.this prod,KarpenterControllerRole-prod
