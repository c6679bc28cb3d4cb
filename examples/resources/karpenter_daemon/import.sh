# By its namespace. The namespace itself is left behind on destroy.
terraform import karpenter_daemon.this karpenter
