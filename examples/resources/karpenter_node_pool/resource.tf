resource "karpenter_node_pool" "spot" {
  name       = "spot"
  node_class = "default" # or karpenter_node_class.default.name, which sets the order

  labels = {
    node-group-type = "spot"
  }
  taints = [{ key = "spot", value = "only", effect = "NoSchedule" }]

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64", "arm64"] },
    { key = "karpenter.k8s.aws/instance-category", operator = "In", values = ["c", "m", "r"] },
    { key = "karpenter.k8s.aws/instance-generation", operator = "Gt", values = ["4"] },
    { key = "karpenter.k8s.aws/instance-family", operator = "Exists", min_values = 5 },
  ]

  limits = {
    cpu    = "200"
    memory = "800Gi"
  }

  disruption = {
    consolidate_after = "30s"
  }
}
