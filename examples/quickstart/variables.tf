variable "cluster_name" {
  description = "Name of the EKS cluster. Its authentication mode must include API, and its OIDC issuer must be registered with IAM."
  type        = string
}

variable "region" {
  description = "AWS region of the cluster."
  type        = string
}

variable "subnet_ids" {
  description = "Ids of the subnets into which instances are launched: private subnets in at least two zones."
  type        = set(string)
}

variable "security_group_ids" {
  description = "Ids of the security groups of the instances: usually only the cluster security group."
  type        = set(string)
}

variable "consolidate_after" {
  description = "How long a node must be empty before it is removed."
  type        = string
  default     = "30s"
}

variable "image" {
  description = "Image of the daemon, if it is not the one of the provider's release: a mirror, { registry = \"...\" }, or an image that you have built, { registry = \"...\", tag = \"...\" }."
  type = object({
    registry    = optional(string)
    repository  = optional(string)
    tag         = optional(string)
    digest      = optional(string)
    pull_policy = optional(string)
  })
  default = null
}
