# Import by the name of the instance profile.
terraform import karpenter_instance_profile.this KarpenterNodes-prod
