package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/memo"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/pace"
)

// Client is the Kubernetes API of the one cluster that the provider points at.
type Client struct {
	*kube.Applier
	Pace     pace.Pace
	identity memo.Value[string]
	waited   bool // a creation has waited for the first contact; guarded by identity
}

// UID is the UID of kube-system. patient waits for a cluster that does not know the
// provider yet, or does not answer yet: both may be a moment old.
func (c *Client) UID(ctx context.Context, patient bool) (string, error) {
	return c.identity.Get(func() (string, error) {
		namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
		var found *unstructured.Unstructured
		read := func(ctx context.Context) (_ bool, err error) {
			found, err = c.Dynamic().Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
			return true, err
		}
		var err error
		if patient && !c.waited {
			// One wait is enough for all resources.
			c.waited = true
			err = c.firstContact(ctx, read)
		} else {
			_, err = read(ctx)
		}
		if err != nil {
			return "", fmt.Errorf("namespace %q read: %w", metav1.NamespaceSystem, err)
		}
		return string(found.GetUID()), nil
	})
}

// firstContact reads until the cluster knows the provider, for up to DeniedWithin. It
// does not wait for a server that cannot be reached: most often its address is wrong.
func (c *Client) firstContact(ctx context.Context, read func(context.Context) (bool, error)) error {
	var unreachable error
	var status apierrors.APIStatus
	within, cancel := context.WithTimeout(ctx, c.DeniedWithin)
	defer cancel()
	told := false
	err := kube.Polling{Told: func(err error) {
		if !told {
			tflog.Info(ctx, "the cluster does not know the provider yet", map[string]any{"error": err.Error(), "waits_up_to": c.DeniedWithin.String()})
		}
		told = true
	}}.Until(within, func(ctx context.Context) (bool, error) {
		_, err := read(ctx)
		if err != nil && !errors.As(err, &status) && !kube.OutOfTime(ctx, err) {
			unreachable = err
			return true, nil
		}
		return true, err
	})
	if err != nil && told {
		return fmt.Errorf("after %v: %w", c.DeniedWithin, err)
	}
	return errors.Join(err, unreachable)
}

// New makes the client of the cluster that config says how to reach.
func New(config *rest.Config, pace pace.Pace) (*Client, error) {
	applier, err := kube.NewApplier(config)
	if err != nil {
		return nil, err
	}
	applier.DeniedWithin = cmp.Or(pace.Patience, kube.DeniedWithin)
	return &Client{Applier: applier, Pace: pace}, nil
}

// CheckVersion refuses a Kubernetes version that the daemon does not work with, and says if it
// is newer than those that the daemon is made for.
func (c *Client) CheckVersion() (newer string, err error) {
	version, err := c.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("kubernetes version read: %w", err)
	}
	return install.NewerKubernetes(version.GitVersion), install.CheckKubernetesVersion(version.GitVersion)
}

// Merge patches a cluster-scoped object. A patch also removes fields that others own:
// an apply removes only fields that we own. The patch has the object's UID, so the
// API server refuses it for another object of that name.
func (c *Client) Merge(ctx context.Context, resource schema.GroupVersionResource, name string, mergePatch []byte) error {
	_, err := c.Dynamic().Resource(resource).Patch(ctx, name, apitypes.MergePatchType, mergePatch, metav1.PatchOptions{FieldManager: kube.FieldManager})
	if err != nil {
		return fmt.Errorf("%s %q patch: %w", resource.Resource, name, err)
	}
	return nil
}
