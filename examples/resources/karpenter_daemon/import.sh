# Import by the namespace of the daemon. A destroy does not delete an imported namespace.
terraform import karpenter_daemon.this karpenter
