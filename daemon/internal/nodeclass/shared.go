package nodeclass

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// sharedFor is how long an answer counts for other classes that select the same. It is
// shorter than the time after which a class asks again, so that no class gets its own old
// answer.
const sharedFor = 8 * time.Second

// shared asks a Cloud once for all classes that select the same: most differ in other
// fields. Answers that are empty are not kept: somebody may be about to tag what is to be
// found. Neither are those about capacity reservations and instance profiles, which the
// daemon's own work changes.
type shared struct {
	Cloud
	now    func() time.Time
	asking singleflight.Group

	mu   sync.Mutex
	kept map[string]answer // by call
}

// answer is what AWS said about a call.
type answer struct {
	at    time.Time
	value any
}

// Share returns a Cloud that asks c once for all classes that select the same.
func Share(c Cloud, now func() time.Time) Cloud {
	return &shared{Cloud: c, now: now, kept: map[string]answer{}}
}

// Subnets is aws.Clients.Subnets.
func (s *shared) Subnets(ctx context.Context, selectors []aws.Selector) ([]aws.Subnet, error) {
	return askFor(ctx, s, fmt.Sprintf("subnets %#v", selectors), func() ([]aws.Subnet, error) { return s.Cloud.Subnets(ctx, selectors) })
}

// SecurityGroups is aws.Clients.SecurityGroups.
func (s *shared) SecurityGroups(ctx context.Context, selectors []aws.Selector) ([]aws.SecurityGroup, error) {
	return askFor(ctx, s, fmt.Sprintf("groups %#v", selectors), func() ([]aws.SecurityGroup, error) { return s.Cloud.SecurityGroups(ctx, selectors) })
}

// Images is aws.Clients.Images.
func (s *shared) Images(ctx context.Context, selectors []aws.ImageSelector) ([]aws.Image, error) {
	return askFor(ctx, s, fmt.Sprintf("images %#v", selectors), func() ([]aws.Image, error) { return s.Cloud.Images(ctx, selectors) })
}

// Parameter is aws.Clients.Parameter.
func (s *shared) Parameter(ctx context.Context, name string) (string, error) {
	values, err := askFor(ctx, s, "parameter "+name, func() ([]string, error) {
		value, err := s.Cloud.Parameter(ctx, name)
		return []string{value}, err
	})
	if err != nil {
		return "", err
	}
	return values[0], nil
}

// askFor returns the answer to the call that somebody waits for or had lately, or else makes
// the call. The caller may change the result.
func askFor[T any](ctx context.Context, s *shared, call string, ask func() ([]T, error)) ([]T, error) {
	if known, ok := s.lately(call); ok {
		return slices.Clone(known.([]T)), nil //nolint:forcetypeassert // a call has one type
	}
	asking := s.asking.DoChan(call, func() (any, error) {
		asked := s.now()
		found, err := ask()
		if err == nil && len(found) > 0 {
			s.keep(call, answer{asked, found})
		}
		return found, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-asking:
		if r.Err != nil {
			return nil, r.Err
		}
		return slices.Clone(r.Val.([]T)), nil //nolint:forcetypeassert // a call has one type
	}
}

func (s *shared) lately(call string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, known := s.kept[call]
	return a.value, known && s.now().Sub(a.at) < sharedFor
}

func (s *shared) keep(call string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, old := range s.kept {
		if a.at.Sub(old.at) >= sharedFor {
			delete(s.kept, other)
		}
	}
	s.kept[call] = a
}
