# With EKS Pod Identity in place of IRSA, and limits that an organisation asks for.
resource "karpenter_controller_role" "pod_identity" {
  cluster_name           = "prod"
  identity               = "pod_identity"
  node_role_arn          = "arn:aws:iam::123456789012:role/platform/nodes"
  path                   = "/platform/"
  permissions_boundary   = "arn:aws:iam::123456789012:policy/boundary"
  max_session_duration   = 7200
  additional_policy_arns = ["arn:aws:iam::123456789012:policy/audit"]
  ami_ssm_parameter_arns = ["arn:aws:ssm:us-west-2:123456789012:parameter/images/*"]

  additional_policy_statements = [
    jsonencode({ Effect = "Deny", Action = "ec2:RunInstances", Resource = "arn:aws:ec2:*:*:instance/*", Condition = { StringLike = { "ec2:InstanceType" = "*.metal" } } }),
  ]
}
