# With a role, the daemon makes the instance profile.
resource "karpenter_node_class" "batch" {
  name   = "batch"
  daemon = "karpenter/karpenterd"
  role   = "KarpenterNodeRole-prod"

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = { "karpenter.sh/discovery" = "prod" } }]
  security_group_selector_terms = [{ tags = { "karpenter.sh/discovery" = "prod" } }]

  kubelet = {
    max_pods                   = "min(50, max_pods)" # for each instance type; a number does for all
    kube_reserved              = { memory = "max_pods * 11" }
    system_reserved            = { memory = "200Mi" }
    eviction_soft              = { "memory.available" = "500Mi" }
    eviction_soft_grace_period = { "memory.available" = "1m30s" }

    # Further fields of the kubelet's own configuration.
    extra = { imageMaximumGCAge = "24h", podPidsLimit = 4096 }
  }
}
