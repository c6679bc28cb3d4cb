locals {
  converted = provider::karpenter::convert(file("${path.module}/karpenter.yaml"))
}

# Review what the conversion changes.
output "warnings" {
  value = local.converted.warnings
}

# One file for each NodePool.
resource "local_file" "node_pools" {
  for_each = local.converted.node_pools

  filename = "${path.module}/v1/${each.key}.yaml"
  content  = each.value
}
