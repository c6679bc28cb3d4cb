# By the cluster's name: whatever carries its tag. Tags that are imported are left behind on destroy.
terraform import karpenter_discovery_tags.this prod
