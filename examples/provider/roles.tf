# Roles, each assumed with the credentials of the one before it.
provider "karpenter" {
  region = "us-west-2"

  assume_role = [
    { role_arn = "arn:aws:iam::111111111111:role/ci" },
    {
      role_arn     = "arn:aws:iam::123456789012:role/terraform"
      session_name = "karpenter"
      external_id  = "prod"
      duration     = "30m"
    },
  ]

  eks = {
    cluster_name = "prod"
  }
}
