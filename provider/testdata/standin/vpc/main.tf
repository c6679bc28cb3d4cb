# Stands for terraform-aws-modules/vpc/aws: the inputs and outputs that examples/complete
# uses, and between its resources the references that the module has.

terraform {
  required_providers {
    standin = {
      source = "karpenterd/standin"
    }
  }
}

variable "name" { type = string }
variable "cidr" { type = string }
variable "azs" { type = list(string) }
variable "private_subnets" { type = list(string) }
variable "public_subnets" { type = list(string) }
variable "enable_nat_gateway" { type = bool }
variable "single_nat_gateway" { type = bool }

resource "standin_thing" "vpc" {
  kind = "vpc"
  of   = [var.name, var.cidr]
}

resource "standin_thing" "private_subnets" {
  kind = "subnets"
  of   = concat([standin_thing.vpc.id], var.azs, var.private_subnets)
}

resource "standin_thing" "public_subnets" {
  kind = "public subnets"
  of   = concat([standin_thing.vpc.id], var.azs, var.public_subnets)
}

resource "standin_thing" "internet_gateway" {
  kind = "internet gateway"
  of   = [standin_thing.vpc.id]
}

resource "standin_thing" "public_route" {
  kind = "route to the internet gateway"
  of   = [standin_thing.internet_gateway.id]
}

resource "standin_thing" "public_association" {
  kind = "route table association of public subnets"
  of   = [standin_thing.public_subnets.id]
}

resource "standin_thing" "nat_gateway" {
  count      = var.enable_nat_gateway && var.single_nat_gateway ? 1 : 0
  kind       = "NAT gateway"
  of         = [standin_thing.public_subnets.id]
  depends_on = [standin_thing.internet_gateway]
}

resource "standin_thing" "private_route" {
  count = length(standin_thing.nat_gateway)
  kind  = "route to the NAT gateway"
  of    = [standin_thing.nat_gateway[count.index].id]
}

resource "standin_thing" "private_association" {
  kind = "route table association of private subnets"
  of   = [standin_thing.private_subnets.id]
}

output "vpc_id" { value = standin_thing.vpc.id }
output "private_subnets" { value = standin_thing.private_subnets.values }
output "private_nat_gateway_route_ids" { value = standin_thing.private_route[*].id }
output "private_route_table_association_ids" { value = [standin_thing.private_association.id] }
output "public_internet_gateway_route_id" { value = standin_thing.public_route.id }
output "public_route_table_association_ids" { value = [standin_thing.public_association.id] }
