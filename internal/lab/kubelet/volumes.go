package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceAccountDir is where client-go looks for the in-cluster configuration.
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// mountVolumes writes the pod's volumes below its directory. It returns when
// the tokens in them want to be written again; zero: never.
func (p *pod) mountVolumes(ctx context.Context) (refresh time.Time, err error) {
	for _, v := range p.object.Spec.Volumes {
		dir := p.volumeDir(v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return refresh, fmt.Errorf("volume %s create: %w", v.Name, err)
		}
		next, err := p.fill(ctx, dir, v.VolumeSource)
		if err != nil {
			return refresh, fmt.Errorf("volume %s: %w", v.Name, err)
		}
		if refresh.IsZero() || (!next.IsZero() && next.Before(refresh)) {
			refresh = next
		}
	}
	return refresh, nil
}

func (p *pod) volumeDir(name string) string { return filepath.Join(p.dir, "volumes", name) }

func (p *pod) fill(ctx context.Context, dir string, v corev1.VolumeSource) (refresh time.Time, err error) {
	switch {
	case v.EmptyDir != nil:
		return refresh, nil
	case v.ConfigMap != nil:
		data, err := p.configMap(ctx, v.ConfigMap.Name)
		return refresh, project(dir, data, err, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		data, err := p.secret(ctx, v.Secret.SecretName)
		return refresh, project(dir, data, err, v.Secret.Items, v.Secret.Optional)
	case v.DownwardAPI != nil:
		return refresh, p.downward(dir, v.DownwardAPI.Items)
	case v.Projected == nil:
		return refresh, fmt.Errorf("volume source: %w", errUnsupported)
	}
	for _, s := range v.Projected.Sources {
		switch {
		case s.ServiceAccountToken != nil:
			next, err := p.writeToken(ctx, dir, s.ServiceAccountToken)
			if err != nil {
				return refresh, err
			}
			if refresh.IsZero() || next.Before(refresh) {
				refresh = next
			}
		case s.ConfigMap != nil:
			data, err := p.configMap(ctx, s.ConfigMap.Name)
			if err := project(dir, data, err, s.ConfigMap.Items, s.ConfigMap.Optional); err != nil {
				return refresh, err
			}
		case s.Secret != nil:
			data, err := p.secret(ctx, s.Secret.Name)
			if err := project(dir, data, err, s.Secret.Items, s.Secret.Optional); err != nil {
				return refresh, err
			}
		case s.DownwardAPI != nil:
			if err := p.downward(dir, s.DownwardAPI.Items); err != nil {
				return refresh, err
			}
		default:
			return refresh, fmt.Errorf("projected source: %w", errUnsupported)
		}
	}
	return refresh, nil
}

// project writes the keys of a config map or secret, all or the chosen ones.
func project(dir string, data map[string][]byte, err error, items []corev1.KeyToPath, optional *bool) error {
	lenient := optional != nil && *optional
	if err != nil && !lenient {
		return err
	}
	if len(items) == 0 {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && lenient {
			continue
		}
		if !ok {
			return fmt.Errorf("key %q is missing", item.Key)
		}
		if err := writeFile(dir, item.Path, value); err != nil {
			return err
		}
	}
	return nil
}

func (p *pod) downward(dir string, items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return fmt.Errorf("downward API item %s: %w", item.Path, errUnsupported)
		}
		value, err := p.field(item.FieldRef.FieldPath)
		if err != nil {
			return err
		}
		if err := writeFile(dir, item.Path, []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file at once, so that no reader sees half of it.
func writeFile(dir, path string, content []byte) error {
	full := filepath.Join(dir, filepath.Clean("/"+path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return fmt.Errorf("%s write: %w", path, err)
	}
	temp := full + ".new"
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return fmt.Errorf("%s write: %w", path, err)
	}
	return os.Rename(temp, full)
}

func (p *pod) configMap(ctx context.Context, name string) (map[string][]byte, error) {
	m, err := p.kubelet.clients.CoreV1().ConfigMaps(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("config map %s read: %w", name, err)
	}
	data := map[string][]byte{}
	for key, value := range m.Data {
		data[key] = []byte(value)
	}
	for key, value := range m.BinaryData {
		data[key] = value
	}
	return data, nil
}

func (p *pod) secret(ctx context.Context, name string) (map[string][]byte, error) {
	s, err := p.kubelet.clients.CoreV1().Secrets(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("secret %s read: %w", name, err)
	}
	return s.Data, nil
}

// paths replaces mount paths by the directories that stand for them. The
// longest path comes first: one mount may lie below another.
func (p *pod) paths(c corev1.Container) *strings.Replacer {
	mounts := slices.Clone(c.VolumeMounts)
	slices.SortFunc(mounts, func(a, b corev1.VolumeMount) int { return cmp.Compare(len(b.MountPath), len(a.MountPath)) })
	var pairs []string
	for _, m := range mounts {
		pairs = append(pairs, m.MountPath, filepath.Join(p.volumeDir(m.Name), m.SubPath))
	}
	return strings.NewReplacer(pairs...)
}
