import {
  to = karpenter_daemon.this
  id = "karpenter"
}
