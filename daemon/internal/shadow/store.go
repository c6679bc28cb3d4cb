package shadow

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// historyKey is where the ConfigMap has the history, as JSON.
	historyKey = "history.json"
	// storeWait is how long the API server may take.
	storeWait = 10 * time.Second
)

// Store keeps the history in the ConfigMap of the installation.
type Store struct{ ConfigMaps market.ConfigMaps }

// Load reads the history; none where nothing was kept.
func (s Store) Load(ctx context.Context) (History, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	m, err := s.ConfigMaps.Get(ctx, install.ShadowName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("configmap %q get: %w", install.ShadowName, err)
	}
	return Read(m)
}

// Find finds the history of a shadow in the namespace; in all of them if it is "", or in the
// default one where not all may be read. None is no error: most clusters have no shadow, and who
// may not read ConfigMaps is not told of one.
func Find(ctx context.Context, from typedcore.ConfigMapsGetter, namespace string) (History, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if namespace == "" {
		list, err := from.ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + install.ShadowName})
		switch {
		case err == nil && len(list.Items) == 0:
			return nil, nil
		case err == nil:
			return Read(&list.Items[0])
		}
		namespace = install.DefaultNamespace
	}
	m, err := from.ConfigMaps(namespace).Get(ctx, install.ShadowName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("configmap %s/%s get: %w", namespace, install.ShadowName, err)
	}
	return Read(m)
}

// Read reads the history of the ConfigMap.
func Read(m *corev1.ConfigMap) (History, error) {
	text := m.Data[historyKey]
	if text == "" {
		return nil, nil
	}
	var h History
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return nil, fmt.Errorf("configmap %q: %s read: %w; delete the key, and the history begins anew", install.ShadowName, historyKey, err)
	}
	return h, nil
}

// Save writes the history.
func (s Store) Save(ctx context.Context, h History) error {
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("history write: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{historyKey: string(text)}})
	if err != nil {
		return fmt.Errorf("history write: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if _, err := s.ConfigMaps.Patch(ctx, install.ShadowName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: translate.FieldManager}); err != nil {
		return fmt.Errorf("configmap %q patch: %w", install.ShadowName, err)
	}
	return nil
}
