resource "karpenter_node_class" "spot" {
  name   = "spot"
  daemon = karpenter_daemon.this.id
  role   = karpenter_node_role.this.name

  ami_family                    = "AL2023"
  ami_selector_terms            = [{ alias = "al2023@v20261015" }]
  subnet_selector_terms         = [{ tags = karpenter_discovery_tags.this.selector_tags }]
  security_group_selector_terms = [{ tags = karpenter_discovery_tags.this.selector_tags }]

  block_device_mappings = [{
    device_name = "/dev/xvda"
    ebs = {
      volume_size           = "100Gi"
      volume_type           = "gp3"
      encrypted             = true
      delete_on_termination = true
    }
  }]

  metadata_options = {
    http_endpoint               = "enabled"
    http_protocol_ipv6          = "disabled"
    http_put_response_hop_limit = 2
    http_tokens                 = "optional"
  }

  tags = {
    Name = "lab-spot"
    team = "batch"
  }
}

resource "karpenter_node_pool" "spot" {
  name       = "spot"
  node_class = karpenter_node_class.spot.name

  labels = { intent = "batch" }
  taints = [{ key = "spot", value = "only", effect = "NoSchedule" }]

  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] },
    { key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.xlarge"] },
    { key = "kubernetes.io/arch", operator = "In", values = ["amd64"] },
    { key = "kubernetes.io/os", operator = "In", values = ["linux"] },
  ]

  expire_after = "720h"
  limits       = { cpu = "16" }

  disruption = {
    consolidation_policy = "WhenEmptyOrUnderutilized"
    consolidate_after    = "30s"
  }
}
