import {
  to = karpenter_spot_service_linked_role.this
  id = "AWSServiceRoleForEC2Spot"
}
