package aws

import (
	"context"
	"errors"
	"net"
	"regexp"

	"github.com/aws/smithy-go"
)

// codeForm is how AWS spells error codes.
var codeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._]{0,63}$`)

// CodeOf names what is wrong with a call for metrics: AWS's error code, "canceled" where the
// daemon gave the call up, "unreachable" where there was no answer, and else "other". An error
// without a cause that AWS names gives one of these three, so that their number is bounded.
func CodeOf(err error) string {
	var api smithy.APIError
	var network net.Error
	switch {
	case errors.As(err, &api) && codeForm.MatchString(api.ErrorCode()):
		return api.ErrorCode()
	case errors.Is(err, ErrThrottled): // by the brake: EC2 was not asked
		return "held"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrUnreachable), errors.As(err, &network):
		return "unreachable"
	}
	return "other"
}
