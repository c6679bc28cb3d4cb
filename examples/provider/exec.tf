# Address, authority and a program that prints tokens, as for the Kubernetes and Helm
# providers. On EKS, the attribute eks does the same without a program.
provider "karpenter" {
  region = "us-west-2"

  kubernetes = {
    host                   = data.aws_eks_cluster.this.endpoint
    cluster_ca_certificate = base64decode(data.aws_eks_cluster.this.certificate_authority[0].data)

    exec = {
      api_version = "client.authentication.k8s.io/v1"
      command     = "aws"
      args        = ["eks", "get-token", "--output", "json", "--cluster-name", "prod"]
    }
  }
}

data "aws_eks_cluster" "this" {
  name = "prod"
}
