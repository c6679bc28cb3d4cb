package kubelet

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// variable is one environment variable; the order is the pod spec's, because
// a value may refer to those before it.
type variable struct{ name, value string }

// environment resolves a container's variables. Later definitions of a name
// replace earlier ones, base included.
func (p *pod) environment(ctx context.Context, c corev1.Container, base []variable) ([]variable, error) {
	out := base
	known := map[string]string{}
	for _, v := range base {
		known[v.name] = v.value
	}
	for _, e := range c.Env {
		value := expand(e.Value, known)
		if e.ValueFrom != nil {
			var present bool
			var err error
			value, present, err = p.reference(ctx, c, e.ValueFrom)
			if err != nil {
				return nil, fmt.Errorf("env %s: %w", e.Name, err)
			}
			if !present {
				continue // an optional key that is not there
			}
		}
		known[e.Name] = value
		out = append(out, variable{e.Name, value})
	}
	return out, nil
}

// reference resolves a valueFrom.
func (p *pod) reference(ctx context.Context, c corev1.Container, from *corev1.EnvVarSource) (value string, present bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err := p.field(from.FieldRef.FieldPath)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err := p.resourceField(c, from.ResourceFieldRef)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		data, err := p.configMap(ctx, from.ConfigMapKeyRef.Name)
		return pick(data, err, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.SecretKeyRef != nil:
		data, err := p.secret(ctx, from.SecretKeyRef.Name)
		return pick(data, err, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	}
	return "", false, fmt.Errorf("valueFrom: %w", errUnsupported)
}

func pick(data map[string][]byte, err error, key string, optional *bool) (string, bool, error) {
	value, ok := data[key]
	if ok {
		return string(value), true, nil
	}
	if optional != nil && *optional {
		return "", false, nil
	}
	if err == nil {
		err = fmt.Errorf("key %q is missing", key)
	}
	return "", false, err
}

// field resolves a downward API path. The pod's address is the one that the
// process can bind to.
func (p *pod) field(path string) (string, error) {
	o := p.object
	switch path {
	case "metadata.name":
		return o.Name, nil
	case "metadata.namespace":
		return o.Namespace, nil
	case "metadata.uid":
		return string(o.UID), nil
	case "spec.nodeName":
		return o.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return o.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return p.kubelet.options.InternalIP, nil
	case "status.podIP", "status.podIPs":
		return p.address.local, nil
	}
	for prefix, values := range map[string]map[string]string{"metadata.labels": o.Labels, "metadata.annotations": o.Annotations} {
		if key, ok := strings.CutPrefix(path, prefix+"['"); ok {
			return values[strings.TrimSuffix(key, "']")], nil
		}
	}
	return "", fmt.Errorf("field path %q: %w", path, errUnsupported)
}

// resourceField resolves limits.x and requests.x of a container; a missing
// limit is the node's allocatable, as the kubelet has it.
func (p *pod) resourceField(c corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	side, name, ok := strings.Cut(ref.Resource, ".")
	if !ok {
		return "", fmt.Errorf("resource %q: %w", ref.Resource, errUnsupported)
	}
	resourceName := corev1.ResourceName(name)
	quantity, found := c.Resources.Limits[resourceName]
	if side == "requests" {
		quantity, found = c.Resources.Requests[resourceName]
	}
	if !found && side == "limits" {
		quantity = p.kubelet.options.Capacity[resourceName]
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if resourceName == corev1.ResourceCPU {
		return fmt.Sprint(ceil(quantity.MilliValue(), divisor.MilliValue())), nil
	}
	return fmt.Sprint(ceil(quantity.Value(), divisor.Value())), nil
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// expand replaces $(NAME) by a known variable; $$ is a dollar, an unknown name
// stays as it is written (Kubernetes API, Container.args).
func expand(text string, known map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			out.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(text[i:], ')')
			if end < 0 {
				out.WriteByte('$')
				continue
			}
			reference := text[i : i+end+1]
			if value, ok := known[reference[2:len(reference)-1]]; ok {
				out.WriteString(value)
			} else {
				out.WriteString(reference)
			}
			i += end
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}
