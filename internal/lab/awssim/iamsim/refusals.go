package iamsim

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

func iamError(status int, code, format string, args ...any) error {
	return &wire.Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

// noSuchEntity: the thing is not there.
func noSuchEntity(format string, args ...any) error {
	return iamError(404, "NoSuchEntity", format, args...)
}

// alreadyExists: the name is taken.
func alreadyExists(format string, args ...any) error {
	return iamError(409, "EntityAlreadyExists", format, args...)
}

// deleteConflict: something still hangs on the thing to be deleted.
func deleteConflict(format string, args ...any) error {
	return iamError(409, "DeleteConflict", format, args...)
}

// limitExceeded: one of IAM's quotas.
func limitExceeded(format string, args ...any) error {
	return iamError(409, "LimitExceeded", format, args...)
}
