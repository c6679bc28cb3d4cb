variable "cluster_name" {
  description = "Name of the EKS cluster."
  type        = string
}

variable "region" {
  description = "AWS region of the cluster."
  type        = string
}

variable "consolidate_after" {
  description = "How long no pod must have come to a node or left it before the node may be removed or replaced to save money."
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
