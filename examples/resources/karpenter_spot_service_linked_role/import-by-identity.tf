import {
  to = karpenter_spot_service_linked_role.this
  identity = {
    name = "AWSServiceRoleForEC2Spot"
  }
}
