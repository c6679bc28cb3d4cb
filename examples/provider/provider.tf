terraform {
  required_providers {
    karpenter = {
      source = "karpenterd/karpenter"
    }
  }
}

provider "karpenter" {
  region = "us-west-2"

  # The same apply may create the cluster.
  eks = {
    cluster_name = "prod"
  }

  default_tags = {
    tags = {
      team = "platform"
    }
  }
}
