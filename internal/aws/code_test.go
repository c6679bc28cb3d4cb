package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
)

func TestCodeOf_IsAWSsCodeOrOneOfFew(t *testing.T) {
	for want, err := range map[string]error{
		"InsufficientInstanceCapacity": fmt.Errorf("launch: %w", &smithy.GenericAPIError{Code: "InsufficientInstanceCapacity"}),
		"InvalidGroup.NotFound":        &smithy.GenericAPIError{Code: "InvalidGroup.NotFound"},
		"held":                         fmt.Errorf("%w: too many calls wait", ErrThrottled),
		"canceled":                     fmt.Errorf("launch: %w", context.Canceled),
		"unreachable":                  &net.OpError{Op: "dial", Err: errors.New("refused")},
		"other":                        &smithy.GenericAPIError{Code: "what is " + strings.Repeat("x", 80)},
	} {
		if got := CodeOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	if got := CodeOf(fmt.Errorf("launch: %w", context.DeadlineExceeded)); got != "unreachable" {
		t.Errorf("a deadline: %s", got)
	}
}
