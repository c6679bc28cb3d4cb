resource "karpenter_discovery_tags" "this" {
  cluster_name       = "prod"
  subnet_ids         = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
  security_group_ids = ["sg-0123456789abcdef0"]
}
