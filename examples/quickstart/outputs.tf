output "node_pools" {
  description = "Names of the node pools."
  value       = [karpenter_node_pool.on_demand.name, karpenter_node_pool.spot.name]
}

output "controller_role_arn" {
  description = "ARN of the daemon's role."
  value       = karpenter_controller_role.this.arn
}
