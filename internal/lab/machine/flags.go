package machine

import (
	"fmt"
	"strconv"
	"strings"
)

// kubelet is what the kubelet starts with: its configuration with the flags
// laid over it, as the kubelet does it.
type kubelet struct {
	config kubeletConfig
	labels map[string]string
}

// kubeletOf reads the kubelet's part of a NodeConfig. Flags that decide
// nothing here are accepted as they are.
func kubeletOf(c nodeConfig) (kubelet, error) {
	k := kubelet{config: c.Spec.Kubelet.Config, labels: map[string]string{}}
	for _, flag := range c.Spec.Kubelet.Flags {
		name, value, _ := strings.Cut(flag, "=")
		value = strings.Trim(value, `"'`) // the flags go through a systemd environment file, which unquotes
		switch name {
		case "--node-labels":
			for _, label := range split(value) {
				key, v, found := strings.Cut(label, "=")
				if !found {
					return kubelet{}, fmt.Errorf("%w: kubelet flag --node-labels: %q is not key=value", ErrUserData, label)
				}
				k.labels[key] = v
			}
		case "--register-with-taints":
			k.config.RegisterWithTaints = nil
			for _, text := range split(value) {
				t, err := parseTaint(text)
				if err != nil {
					return kubelet{}, err
				}
				k.config.RegisterWithTaints = append(k.config.RegisterWithTaints, t)
			}
		case "--max-pods":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return kubelet{}, fmt.Errorf("%w: kubelet flag --max-pods: %w", ErrUserData, err)
			}
			k.config.MaxPods = &n
		default:
			if !strings.HasPrefix(name, "--") {
				return kubelet{}, fmt.Errorf("%w: kubelet flag %q does not begin with --", ErrUserData, flag)
			}
		}
	}
	return k, nil
}

// parseTaint reads key=value:Effect or key:Effect.
func parseTaint(text string) (taint, error) {
	rest, effect, found := strings.Cut(text, ":")
	if !found || rest == "" || effect == "" {
		return taint{}, fmt.Errorf("%w: kubelet flag --register-with-taints: %q is not key[=value]:effect", ErrUserData, text)
	}
	key, value, _ := strings.Cut(rest, "=")
	return taint{Key: key, Value: value, Effect: effect}, nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
