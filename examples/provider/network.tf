# VPC endpoints, a proxy, and tags that another system keeps.
provider "karpenter" {
  region      = "us-west-2"
  https_proxy = "http://proxy.example.com:3128"
  no_proxy    = "169.254.169.254,.eks.amazonaws.com"
  max_retries = 10
  retry_mode  = "adaptive"

  endpoints = {
    sts = "https://vpce-0123456789abcdef0.sts.us-west-2.vpce.amazonaws.com"
  }

  ignore_tags = {
    keys         = ["LastScanned"]
    key_prefixes = ["cost:"]
  }

  eks = {
    cluster_name = "prod"
  }
}
