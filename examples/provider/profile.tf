# A profile of the shared files, such as one of IAM Identity Center (aws sso login), and a
# guard against the wrong account.
provider "karpenter" {
  region              = "us-west-2"
  profile             = "prod"
  allowed_account_ids = ["123456789012"]

  eks = {
    cluster_name = "prod"
  }
}
