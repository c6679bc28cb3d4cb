package reach

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func lease(namespace, holder string, renewed time.Time) *coordinationv1.Lease {
	seconds := int32(15)
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: install.LeaseName, Labels: install.LeaseLabels()},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
	}
	if !renewed.IsZero() {
		l.Spec.RenewTime = &metav1.MicroTime{Time: renewed}
	}
	return l
}

// Karpenter's Lease has the same name, and not the daemon's labels.
func TestLease_IsFoundInWhateverNamespaceAndToldFromKarpenters(t *testing.T) {
	karpenters := lease("kube-system", "karpenter-1", now)
	karpenters.Labels = nil
	shadows := lease("watch", "karpenterd-2", now)
	shadows.Name = install.ShadowName
	beside := lease("kube-system", "karpenterd-3", now)
	beside.Name = install.ShadowName
	other := lease("apps", "x", now)
	other.Name = "another"
	for name, c := range map[string]struct {
		objects   []runtime.Object
		namespace string
		forbidden bool
		found     string
		holder    string // "" for any
		want      string // of the error
		is        error
	}{
		"one":                       {objects: []runtime.Object{karpenters, lease("nodes", "a", now), other}, found: "nodes"},
		"none":                      {objects: []runtime.Object{karpenters, other}, want: "no namespace has a Lease karpenter-leader-election of karpenterd", is: ErrNoDaemon},
		"two":                       {objects: []runtime.Object{lease("one", "a", now), lease("two", "a", now)}, want: "in the namespaces one, two: give one of them as --daemon-namespace"},
		"two, and one is named":     {objects: []runtime.Object{lease("one", "a", now), lease("two", "a", now)}, namespace: "two", found: "two"},
		"the named one has none":    {objects: []runtime.Object{lease("one", "a", now)}, namespace: "two", want: "namespace two has no Lease", is: ErrNoDaemon},
		"a shadow alone":            {objects: []runtime.Object{karpenters, shadows}, found: "watch"},
		"the daemon and a shadow":   {objects: []runtime.Object{lease("nodes", "a", now), shadows}, found: "nodes"},
		"a shadow beside Karpenter": {objects: []runtime.Object{karpenters, beside}, namespace: "kube-system", found: "kube-system", holder: "karpenterd-3"},
		"no right to list":          {objects: []runtime.Object{lease("karpenter", "a", now)}, forbidden: true, found: "karpenter"},
		"no right to list, nothing": {forbidden: true, want: "namespace karpenter has no Lease", is: ErrNoDaemon},
	} {
		clients := fake.NewClientset(c.objects...)
		if c.forbidden {
			clients.PrependReactor("list", "leases", func(kubetesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("no"))
			})
		}
		got, err := Target{Namespace: c.namespace}.lease(t.Context(), clients)
		switch {
		case c.want == "" && (err != nil || got.Namespace != c.found || c.holder != "" && *got.Spec.HolderIdentity != c.holder):
			t.Errorf("%s: %v, %v, want that of %s", name, got, err, c.found)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is)):
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestHolder_OfALeaseThatNobodyRenewsIsNobody(t *testing.T) {
	for name, c := range map[string]struct {
		lease *coordinationv1.Lease
		want  string
	}{
		"renewed":           {lease("karpenter", "karpenterd-1", now.Add(-20*time.Second)), ""},
		"a clock is behind": {lease("karpenter", "karpenterd-1", now.Add(time.Hour)), ""},
		"never renewed":     {lease("karpenter", "karpenterd-1", time.Time{}), ""},
		"released":          {lease("karpenter", "", now), "nobody holds the Lease karpenter/karpenter-leader-election"},
		"left":              {lease("karpenter", "karpenterd-1", now.Add(-time.Minute)), "karpenterd-1 has not renewed the Lease karpenter/karpenter-leader-election for 1m0s"},
	} {
		holder, err := holderOf(c.lease, now)
		if c.want == "" && (err != nil || holder != "karpenterd-1") || c.want != "" && (!errors.Is(err, ErrNoLeader) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v, want %q", name, holder, err, c.want)
		}
	}
}

func TestLeader_AClusterThatCannotBeReachedIsAnErrorAtOnce(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	if (Target{}).Given() {
		t.Error("a kubeconfig is found where there is none")
	}
	err := Target{Context: "none"}.Leader(t.Context(), 1, func(context.Context, string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `context "none" does not exist; give --kubeconfig or --context`) {
		t.Errorf("error %v", err)
	}
}
