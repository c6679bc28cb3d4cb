terraform {
  required_providers {
    karpenter = {
      source = "karpenterd/karpenter"
    }
  }
}

provider "karpenter" {
  region = "us-west-2"

  # The cluster may be made in the same apply.
  eks = {
    cluster_name = "prod"
  }

  default_tags = {
    tags = {
      team = "platform"
    }
  }
}
