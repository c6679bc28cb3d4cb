package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// accountRule says which AWS accounts may be read and changed. Both lists empty: every
// account.
type accountRule struct{ allowed, forbidden []string }

func (r accountRule) none() bool { return len(r.allowed) == 0 && len(r.forbidden) == 0 }

// check refuses the account of the caller. ErrAccount.
func (r accountRule) check(caller aws.Identity) error {
	who := fmt.Sprintf("the credentials are those of %s in the account %s", caller.ARN, caller.Account)
	if slices.Contains(r.forbidden, caller.Account) {
		return fmt.Errorf("%w: %s, and forbidden_account_ids is %s", ErrAccount, who, listed(r.forbidden))
	}
	if len(r.allowed) > 0 && !slices.Contains(r.allowed, caller.Account) {
		return fmt.Errorf("%w: %s, and allowed_account_ids is %s", ErrAccount, who, listed(r.allowed))
	}
	return nil
}

func listed(ids []string) string {
	return "[" + strings.Join(slices.Sorted(slices.Values(ids)), ", ") + "]"
}

// checkAccount asks STS once whose the credentials are, if the configuration restricts
// accounts. ErrAccount.
func (s *session) checkAccount(ctx context.Context, clients *aws.Clients) error {
	if s.accounts.none() {
		return nil
	}
	caller, err := s.caller.get(func() (aws.Identity, error) { return clients.Identity(ctx) })
	if err != nil {
		return fmt.Errorf("account check: %w", err)
	}
	return s.accounts.check(caller)
}
