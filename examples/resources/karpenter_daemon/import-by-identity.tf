import {
  to = karpenter_daemon.this
  identity = {
    namespace = "karpenter"
  }
}
