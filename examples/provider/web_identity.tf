# A CI system that gives each job an OIDC token in a file.
provider "karpenter" {
  region = "us-west-2"

  assume_role_with_web_identity = {
    role_arn                = "arn:aws:iam::123456789012:role/terraform"
    web_identity_token_file = "/var/run/secrets/ci/token"
  }

  eks = {
    cluster_name = "prod"
  }
}
