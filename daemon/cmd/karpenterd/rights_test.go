package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// granting is a cluster that answers whether the daemon has a right.
func granting(answer func(authorizationv1.ResourceAttributes) (bool, error)) *fake.Clientset {
	core := fake.NewClientset()
	core.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review, _ := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		allowed, err := answer(*review.Spec.ResourceAttributes)
		review.Status.Allowed = allowed
		return true, review, err
	})
	return core
}

// nomination says whether the right is that to nominate pods.
func nomination(r authorizationv1.ResourceAttributes) bool {
	return r.Verb == "patch" && r.Resource == "pods" && r.Subresource == "status" && r.Namespace == ""
}

// Plans count on nominations: a daemon that may not nominate would launch nodes that the
// scheduler fills otherwise.
func TestPreflight_RefusesToRunWithoutTheRightToNominateAndSaysTheRemedy(t *testing.T) {
	t.Parallel()
	if err := nominates(t.Context(), granting(func(r authorizationv1.ResourceAttributes) (bool, error) { return nomination(r), nil })); err != nil {
		t.Errorf("with the right: %v", err)
	}
	err := nominates(t.Context(), granting(func(r authorizationv1.ResourceAttributes) (bool, error) { return !nomination(r), nil }))
	if !errors.Is(err, kube.ErrMayNotNominate) || !strings.Contains(err.Error(), "patch pods/status") || !strings.Contains(err.Error(), "ClusterRole") {
		t.Errorf("without: %v, want the verb, the resource and the remedy", err)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectaccessreviews"}, "", nil)
	for _, silent := range []error{forbidden, errors.New("down")} {
		if err := nominates(t.Context(), granting(func(authorizationv1.ResourceAttributes) (bool, error) { return false, silent })); err != nil {
			t.Errorf("without an answer: %v", err)
		}
	}
	if err := nominates(t.Context(), doubting()); err != nil {
		t.Errorf("where the API server could not tell: %v", err)
	}
}

// doubting is a cluster whose authorizer fails: the API server says so beside a no.
func doubting() *fake.Clientset {
	core := fake.NewClientset()
	core.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review, _ := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		review.Status.EvaluationError = "the webhook does not answer"
		return true, review, nil
	})
	return core
}

func TestMayNominate_TheDaemonEndsWhenItLosesTheRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		down, began := errors.New("down"), time.Now()
		core := granting(func(authorizationv1.ResourceAttributes) (bool, error) {
			switch passed := time.Since(began); {
			case passed < time.Minute:
				return true, nil
			case passed < 2*time.Minute:
				return false, down // that is no answer
			case passed < 2*time.Minute+rightsEvery:
				return false, nil // the ClusterRole is made again
			case passed < 3*time.Minute:
				return true, nil
			}
			return false, nil
		})
		err := mayNominate(t.Context(), core, hclog.New(&hclog.LoggerOptions{Output: &log}))
		if took := time.Since(began); !errors.Is(err, kube.ErrMayNotNominate) || took != 3*time.Minute+rightsEvery {
			t.Errorf("%v after %s", err, took)
		}
		if got := strings.Count(log.String(), "check of the right to nominate pods failed; retrying"); got != 2 {
			t.Errorf("logged %d times that the right could not be checked, want twice:\n%s", got, log.String())
		}
	})
}

func TestMayNominate_EndsWithTheDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := mayNominate(ctx, granting(func(authorizationv1.ResourceAttributes) (bool, error) { return true, nil }), hclog.NewNullLogger()); err != nil {
			t.Error(err)
		}
	})
}

// An API server that cannot tell, as one whose authorizer has trouble, has not said no.
func TestMayNominate_GoesOnWhereTheAPIServerCannotTell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := mayNominate(ctx, doubting(), hclog.NewNullLogger()); err != nil {
			t.Error(err)
		}
	})
}
