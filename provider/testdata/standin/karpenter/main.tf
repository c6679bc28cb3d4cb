# What modules/karpenter of terraform-aws-eks has at the addresses that the guide names, and
# what it has besides. The provider is a stand-in.
terraform {
  required_providers {
    aws = {
      source = "karpenterd/aws"
    }
  }
}

resource "aws_sqs_queue" "this" {
  count = 1
}

resource "aws_sqs_queue_policy" "this" {
  count = 1
}

resource "aws_cloudwatch_event_rule" "this" {
  for_each = toset(["health_event", "spot_interrupt"])
}

resource "aws_iam_role" "node" {
  count = 1
}

resource "aws_iam_role" "controller" {
  count = 1
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy"])
}

resource "aws_iam_role_policy_attachment" "node_additional" {
  for_each = toset(["other"])
}

resource "aws_iam_role_policy_attachment" "controller" {
  count = 1
}

resource "aws_eks_access_entry" "node" {
  count = 1
}

resource "aws_eks_pod_identity_association" "karpenter" {
  count = 1
}

output "node_iam_role_arn" {
  value = "arn:aws:iam::123456789012:role/Karpenter-lab"
}

output "queue_arn" {
  value = "arn:aws:sqs:us-west-2:123456789012:Karpenter-lab"
}

output "queue_name" {
  value = "Karpenter-lab"
}
