# A queue that is encrypted with a key of yours. The policy of the key must let EventBridge use
# it, and queue_kms_key_arn of karpenter_controller_role lets the daemon.
resource "karpenter_interruption_queue" "encrypted" {
  cluster_name = "prod"
  kms_key_id   = "alias/interruptions"

  # Beside the provider's own statements.
  additional_policy_statements = [
    jsonencode({
      Sid       = "OnlyOurOrganization"
      Effect    = "Deny"
      Principal = "*"
      Action    = "sqs:ReceiveMessage"
      Condition = { StringNotEquals = { "aws:PrincipalOrgID" = "o-0123456789" } }
    }),
  ]
}
