# A context of a kubeconfig file in place of eks. Without the attribute, KUBE_CONFIG_PATH and
# KUBE_CTX say the same.
provider "karpenter" {
  region = "us-west-2"

  kubernetes = {
    config_path    = "~/.kube/config"
    config_context = "prod"
  }
}
