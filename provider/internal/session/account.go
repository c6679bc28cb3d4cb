package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// AccountRule says which AWS accounts may be read and changed. Both lists empty: every
// account.
type AccountRule struct{ Allowed, Forbidden []string }

func (r AccountRule) none() bool { return len(r.Allowed) == 0 && len(r.Forbidden) == 0 }

// check refuses the account of the caller. ErrAccount.
func (r AccountRule) check(caller aws.Identity) error {
	who := fmt.Sprintf("the credentials are those of %s in the account %s", caller.ARN, caller.Account)
	if slices.Contains(r.Forbidden, caller.Account) {
		return fmt.Errorf("%w: %s, and forbidden_account_ids is %s", failure.ErrAccount, who, listed(r.Forbidden))
	}
	if len(r.Allowed) > 0 && !slices.Contains(r.Allowed, caller.Account) {
		return fmt.Errorf("%w: %s, and allowed_account_ids is %s", failure.ErrAccount, who, listed(r.Allowed))
	}
	return nil
}

func listed(ids []string) string {
	return "[" + strings.Join(slices.Sorted(slices.Values(ids)), ", ") + "]"
}

// checkAccount asks STS once whose the credentials are, if the configuration restricts
// accounts. ErrAccount.
func (s *Session) checkAccount(ctx context.Context, clients *aws.Clients) error {
	if s.Accounts.none() {
		return nil
	}
	caller, err := s.Caller.Get(func() (aws.Identity, error) { return clients.Identity(ctx) })
	if err != nil {
		return fmt.Errorf("account check: %w", err)
	}
	return s.Accounts.check(caller)
}
