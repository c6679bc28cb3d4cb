variable "name" {
  description = "Name of the cluster and of its VPC."
  type        = string
}

variable "region" {
  description = "AWS region."
  type        = string
}

variable "zones" {
  description = "At least two availability zones of the region."
  type        = list(string)
}

variable "cidr" {
  description = "IPv4 addresses of the VPC."
  type        = string
  default     = "10.0.0.0/16"
}

variable "kubernetes_version" {
  description = "Kubernetes version of the cluster."
  type        = string
  default     = "1.35"
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
