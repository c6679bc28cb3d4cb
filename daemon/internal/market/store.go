package market

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// storeKey is where the ConfigMap has the answers.
	storeKey = "catalogue.json.gz"
	// storeMost and reportsMost are the most bytes that are kept of the answers and of the
	// reports: a ConfigMap holds a MiB, and base64 is no part of that.
	storeMost, reportsMost = 640 << 10, 200 << 10
	// storeUnpacked bounds what is read: a real catalogue has some 3 MiB.
	storeUnpacked = 64 << 20
	// storeFormat changes when answers of an older release cannot be read any more.
	storeFormat = 1
	// storeWait is how long the API server may take.
	storeWait = 10 * time.Second
)

// ConfigMaps reads and writes the ConfigMaps of the daemon's namespace.
type ConfigMaps interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.ConfigMap, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*corev1.ConfigMap, error)
}

// Store keeps answers in the ConfigMap of the installation.
type Store struct{ ConfigMaps ConfigMaps }

// kept is what the ConfigMap has, as gzipped JSON.
type kept struct {
	Format   int
	Region   string
	Answered map[string]time.Time // by group
	Live     catalog.Live
}

// load reads what is kept for the region.
func (s Store) load(ctx context.Context, region string) (kept, error) {
	packed, err := s.read(ctx, storeKey)
	if err != nil || len(packed) == 0 {
		return kept{}, err
	}
	k, err := decode(packed)
	if err == nil && (k.Format != storeFormat || k.Region != region) {
		err = errForeign
	}
	if err != nil {
		return kept{}, unreadable(storeKey, err)
	}
	return k, nil
}

// read returns what is kept under the key; nothing where the key is missing.
func (s Store) read(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	m, err := s.ConfigMaps.Get(ctx, install.CatalogueName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("configmap %q get: %w", install.CatalogueName, err)
	}
	return m.BinaryData[key], nil
}

const (
	clusterKey  = "cluster.json.gz"
	clusterMost = 64 << 10
)

// Cluster returns what EKS has said of the cluster last, by KeepCluster. What is kept of another
// cluster, or not at all, is an error.
func (s Store) Cluster(ctx context.Context, name string) (aws.Cluster, error) {
	packed, err := s.read(ctx, clusterKey)
	if err != nil {
		return aws.Cluster{}, err
	}
	var c aws.Cluster
	if err = unpack(packed, &c); err == nil && c.Name != name {
		err = errForeign
	}
	if err != nil {
		return aws.Cluster{}, unreadable(clusterKey, err)
	}
	return c, nil
}

// KeepCluster keeps what EKS has said of the cluster.
func (s Store) KeepCluster(ctx context.Context, c aws.Cluster) error {
	return s.write(ctx, clusterKey, c, clusterMost)
}

// FaultKey is where the ConfigMap has the record of a decision that panicked; see package replay,
// which bounds it.
const FaultKey = "fault.gob.gz"

// KeepFault keeps the record of a decision that panicked.
func (s Store) KeepFault(ctx context.Context, packed []byte) error {
	return s.put(ctx, FaultKey, packed)
}

// Fault returns what KeepFault kept last; nothing where there is none.
func (s Store) Fault(ctx context.Context) ([]byte, error) { return s.read(ctx, FaultKey) }

func unreadable(key string, err error) error {
	return fmt.Errorf("configmap %q read %s: %w", install.CatalogueName, key, err)
}

// save replaces what is kept.
func (s Store) save(ctx context.Context, k kept) error { return s.write(ctx, storeKey, k, storeMost) }

// write replaces what is kept under the key, and leaves the other keys alone. The
// installation has made the ConfigMap, and removes it.
func (s Store) write(ctx context.Context, key string, value any, most int) error {
	packed, err := encode(value, most)
	if err != nil {
		return fmt.Errorf("configmap %q write %s: %w", install.CatalogueName, key, err)
	}
	return s.put(ctx, key, packed)
}

func (s Store) put(ctx context.Context, key string, packed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	patch, err := json.Marshal(corev1.ConfigMap{BinaryData: map[string][]byte{key: packed}})
	if err == nil {
		_, err = s.ConfigMaps.Patch(ctx, install.CatalogueName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: translate.FieldManager})
	}
	if err != nil {
		return fmt.Errorf("configmap %q write: %w", install.CatalogueName, err)
	}
	return nil
}

// encode writes gzipped JSON.
func encode(value any, most int) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() > most {
		return nil, fmt.Errorf("%d bytes: %w", out.Len(), errTooLarge)
	}
	return out.Bytes(), nil
}

// decode reads the answers that encode wrote.
func decode(packed []byte) (kept, error) {
	var k kept
	if err := unpack(packed, &k); err != nil {
		return kept{}, err
	}
	return k, nil
}

// unpack reads what encode wrote. What it does not know is an error: the meaning of the
// rest may be another then.
func unpack(packed []byte, into any) error {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(r, storeUnpacked)) // to the end, where the checksum is
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// keep returns what is to be kept.
func (k *Keeper) keep() kept {
	out := kept{Format: storeFormat, Region: k.Market.Region, Answered: map[string]time.Time{}, Live: k.live}
	for name, q := range k.asked {
		if !q.answered.IsZero() {
			out.Answered[name] = q.answered.UTC()
		}
	}
	return out
}

// restore takes over what is kept, and says whether there is all of it.
func (k *Keeper) restore(ctx context.Context) (all bool) {
	stored, err := k.Store.load(ctx, k.Market.Region)
	if err != nil {
		k.Logger.Warn("the last answers of AWS about types and prices cannot be read; AWS is asked again", "error", err)
		return false
	}
	now := k.Now()
	all = true
	for name, q := range k.asked {
		at, there := stored.Answered[name]
		if there = there && q.entries(&stored.Live) > 0; !there {
			all = false
			continue
		}
		q.copy(&k.live, &stored.Live)
		q.urgent, q.answered = true, at
		if now.Before(at) { // by the clock of another machine
			q.answered = now
		}
	}
	return all
}
