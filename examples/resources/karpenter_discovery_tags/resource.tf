variable "subnet_ids" {
  description = "Ids of the subnets of the nodes: private subnets in at least two zones."
  type        = set(string)
}

variable "security_group_ids" {
  description = "Ids of the security groups of the nodes: usually only the cluster security group."
  type        = set(string)
}

resource "karpenter_discovery_tags" "this" {
  cluster_name       = "prod"
  subnet_ids         = var.subnet_ids
  security_group_ids = var.security_group_ids
}
