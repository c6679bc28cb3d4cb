# If the same configuration makes the others, refer to them, as the attributes say: the
# references set the order.
resource "karpenter_node_class" "default" {
  name             = "default"
  daemon           = "karpenter/karpenterd"
  instance_profile = "KarpenterNodes-prod"

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = { "karpenter.sh/discovery" = "prod" } }]
  security_group_selector_terms = [{ tags = { "karpenter.sh/discovery" = "prod" } }]

  block_device_mappings = [{
    device_name = "/dev/xvda"
    ebs = {
      volume_size = "50Gi"
      volume_type = "gp3"
      encrypted   = true
    }
  }]

  tags = {
    "cost-center" = "compute"
  }
}
