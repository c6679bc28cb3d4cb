# The demo's own addition to the quickstart: a node pool for services, which lets
# all its nodes go at once. The default is one in ten.
resource "karpenter_node_pool" "services" {
  name       = "services"
  node_class = karpenter_node_class.default.name

  labels = {
    node-group-type = "services"
  }
  taints = [{ key = "services", value = "only", effect = "NoSchedule" }]

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
  ]

  disruption = {
    consolidate_after = var.consolidate_after
    budgets           = [{ nodes = "100%" }]
  }
}
