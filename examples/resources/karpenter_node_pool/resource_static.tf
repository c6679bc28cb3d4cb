# A static pool: three nodes, whatever the pods need. The fourth is for replacements.
resource "karpenter_node_pool" "gateways" {
  name       = "gateways"
  node_class = "default"

  taints = [{ key = "gateways", value = "only", effect = "NoSchedule" }]

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
    { key = "node.kubernetes.io/instance-type", operator = "In", values = ["c6g.xlarge", "c7g.xlarge"] },
  ]

  # Of the NodePool itself, not of its nodes: other tools select it by them, and no node goes
  # because it has drifted or expires.
  object_labels      = { team = "network" }
  object_annotations = { "karpenterd.sh/pause-disruption" = "true" }

  replicas = 3
  limits   = { nodes = "4" }
}
