# Stands for terraform-aws-modules/eks/aws: the inputs and outputs that examples/complete
# uses, and between its resources the references and the depends_on that the module has.

terraform {
  required_providers {
    standin = {
      source = "karpenterd/standin"
    }
  }
}

variable "name" { type = string }
variable "kubernetes_version" { type = string }
variable "endpoint_public_access" { type = bool }
variable "enable_cluster_creator_admin_permissions" { type = bool }
variable "enable_irsa" { type = bool }
variable "addons" { type = map(object({ before_compute = optional(bool, false) })) }
variable "vpc_id" { type = string }
variable "subnet_ids" { type = list(string) }
variable "eks_managed_node_groups" { type = any }

resource "standin_thing" "node_security_group" {
  kind = "node security group"
  of   = [var.vpc_id]
}

resource "standin_thing" "node_security_group_rule" {
  kind = "rule of the node security group"
  of   = [standin_thing.node_security_group.id]
}

resource "standin_thing" "cluster" {
  kind       = "cluster"
  of         = concat([var.name, var.kubernetes_version], var.subnet_ids)
  depends_on = [standin_thing.node_security_group_rule]
}

resource "standin_thing" "access_entry" {
  count = var.enable_cluster_creator_admin_permissions ? 1 : 0
  kind  = "access entry"
  of    = [standin_thing.cluster.id]
}

resource "standin_thing" "oidc_provider" {
  count = var.enable_irsa ? 1 : 0
  kind  = "OIDC provider"
  of    = [standin_thing.cluster.id]
}

resource "standin_thing" "node_group" {
  for_each = var.eks_managed_node_groups
  kind     = "node group"
  of       = concat([standin_thing.cluster.name, standin_thing.node_security_group.id], each.value.instance_types)
}

resource "standin_thing" "addon" {
  for_each   = { for name, addon in var.addons : name => addon if !addon.before_compute }
  kind       = "add-on"
  of         = [standin_thing.cluster.id, each.key]
  depends_on = [standin_thing.node_group]
}

resource "standin_thing" "addon_before_compute" {
  for_each = { for name, addon in var.addons : name => addon if addon.before_compute }
  kind     = "add-on"
  of       = [standin_thing.cluster.id, each.key]
}

output "cluster_name" {
  value      = standin_thing.cluster.name
  depends_on = [standin_thing.access_entry]
}

output "node_security_group_id" { value = standin_thing.node_security_group.name }
output "oidc_provider_arn" { value = one(standin_thing.oidc_provider[*].id) }
output "eks_managed_node_groups" {
  value = { for name, group in standin_thing.node_group : name => { node_group_arn = group.id } }
}
output "cluster_addons" {
  value = { for name, addon in merge(standin_thing.addon, standin_thing.addon_before_compute) : name => { arn = addon.id } }
}
