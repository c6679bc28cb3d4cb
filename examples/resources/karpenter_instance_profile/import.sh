# By its name.
terraform import karpenter_instance_profile.this KarpenterNodes-prod
