# Requirements are a list like any other: a for expression makes them of values of your own, and
# concat adds them to others.
locals {
  allowed = {
    "karpenter.k8s.aws/instance-family" = ["c7g", "m7g", "r7g"]
    "topology.kubernetes.io/zone"       = ["us-west-2a", "us-west-2b"]
  }
}

resource "karpenter_node_pool" "graviton" {
  name       = "graviton"
  node_class = "default"

  requirements = concat(
    [
      { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
      { key = "kubernetes.io/arch", operator = "In", values = ["arm64"] },
    ],
    [for key, values in local.allowed : { key = key, operator = "In", values = values }],
  )
}
