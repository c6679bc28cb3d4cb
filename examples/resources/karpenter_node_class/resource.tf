resource "karpenter_node_class" "default" {
  name             = "default"
  daemon           = karpenter_daemon.this.id
  instance_profile = karpenter_instance_profile.this.name

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = karpenter_discovery_tags.this.selector_tags }]
  security_group_selector_terms = [{ tags = karpenter_discovery_tags.this.selector_tags }]

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

# With a role, the daemon makes the instance profile.
resource "karpenter_node_class" "batch" {
  name   = "batch"
  daemon = karpenter_daemon.this.id
  role   = karpenter_node_role.this.name

  ami_selector_terms            = [{ alias = "al2023@latest" }]
  subnet_selector_terms         = [{ tags = karpenter_discovery_tags.this.selector_tags }]
  security_group_selector_terms = [{ tags = karpenter_discovery_tags.this.selector_tags }]

  kubelet = {
    max_pods                   = 50
    system_reserved            = { memory = "200Mi" }
    eviction_soft              = { "memory.available" = "500Mi" }
    eviction_soft_grace_period = { "memory.available" = "1m30s" }
  }
}
