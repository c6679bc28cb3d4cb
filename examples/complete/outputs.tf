output "cluster_name" {
  description = "Name of the cluster, for aws eks update-kubeconfig --name."
  value       = module.eks.cluster_name
}

output "node_pools" {
  description = "Names of the node pools."
  value       = [karpenter_node_pool.default.name]
}
