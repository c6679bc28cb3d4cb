# By the cluster's name and the queue's.
terraform import karpenter_interruption_queue.this prod,prod
