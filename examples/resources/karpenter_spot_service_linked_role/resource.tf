# Once in an account: the role is adopted if it is there, and stays at the destruction.
resource "karpenter_spot_service_linked_role" "this" {}
