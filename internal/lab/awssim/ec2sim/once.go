package ec2sim

import (
	"errors"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// tokenUse is the first request with a client token, and its answer.
type tokenUse struct {
	params string
	answer any
	err    error
}

// once carries out the request of a client token one time: the same request
// again gets the same answer, the failure included; another request with that
// token is refused. A refusal by IAM, or because of something that is not there,
// is no answer and is not kept. Without a token, and in a dry run, it just runs.
func (c *call) once(token string, dry bool, run func() (any, error)) (any, error) {
	if token == "" || dry {
		return run()
	}
	key := c.req.Action + " " + token
	params := c.req.Form.Encode() // sorted by name, so that equal requests are equal
	if use, ok := c.s.tokens[key]; ok {
		if use.params != params {
			return nil, wire.Errorf("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
		}
		return use.answer, use.err
	}
	answer, err := run()
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != "UnauthorizedOperation" && !strings.Contains(refused.Code, ".NotFound") {
		c.s.tokens[key] = tokenUse{params, answer, err}
	}
	return answer, err
}
