# Import by the name of the cluster and the name of the queue.
terraform import karpenter_interruption_queue.this prod,prod
