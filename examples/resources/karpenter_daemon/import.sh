# By its namespace.
terraform import karpenter_daemon.this karpenter
