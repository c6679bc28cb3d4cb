import {
  to = karpenter_interruption_queue.this
  id = "prod,prod"
}
