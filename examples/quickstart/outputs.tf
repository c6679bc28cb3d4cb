output "node_pools" {
  description = "Names of the node pools."
  value       = [karpenter_node_pool.on_demand.name, karpenter_node_pool.spot.name]
}

output "controller_role_arn" {
  description = "ARN of the daemon's role."
  value       = karpenter_controller_role.this.arn
}

output "next" {
  description = "What to look at next, as commands."
  value = {
    "1 reach the cluster"            = "aws eks update-kubeconfig --region ${var.region} --name ${var.cluster_name}"
    "2 see pools and nodes"          = "kubectl get nodepools,nodeclaims"
    "3 see why a pod has no node"    = "karpenterd explain pod NAMESPACE/NAME"
    "4 see why nodes of a pool stay" = "karpenterd explain pool ${karpenter_node_pool.on_demand.name}"
    "5 read the log"                 = "kubectl logs -n ${karpenter_daemon.this.namespace} deployment/karpenterd"
  }
}
