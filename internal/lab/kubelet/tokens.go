package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeToken asks for a token bound to the pod and writes it. It is to be
// written again when four fifths of its life are over, as the kubelet does.
func (p *pod) writeToken(ctx context.Context, dir string, s *corev1.ServiceAccountTokenProjection) (refresh time.Time, err error) {
	o := p.object
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: s.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: o.Name, UID: o.UID},
	}}
	if s.Audience != "" {
		request.Spec.Audiences = []string{s.Audience}
	}
	asked := time.Now()
	answer, err := p.kubelet.clients.CoreV1().ServiceAccounts(o.Namespace).CreateToken(ctx, o.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return refresh, fmt.Errorf("service-account token request: %w", err)
	}
	life := answer.Status.ExpirationTimestamp.Sub(asked)
	return asked.Add(life * 4 / 5), writeFile(dir, s.Path, []byte(answer.Status.Token))
}

// kubeconfig writes what stands for the in-cluster configuration, for
// containers that have the service account mounted; empty for others.
func (p *pod) kubeconfig(c corev1.Container) (string, error) {
	for _, m := range c.VolumeMounts {
		if m.MountPath != serviceAccountDir {
			continue
		}
		dir := p.volumeDir(m.Name)
		config := clientcmdapi.NewConfig()
		config.Clusters["in-cluster"] = &clientcmdapi.Cluster{
			Server: cmp.Or(p.kubelet.options.PodAPIServer, p.kubelet.options.Config.Host), CertificateAuthority: filepath.Join(dir, "ca.crt"),
		}
		config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
		config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "in-cluster", AuthInfo: "pod", Namespace: p.object.Namespace}
		config.CurrentContext = "pod"
		raw, err := clientcmd.Write(*config)
		if err != nil {
			return "", fmt.Errorf("kubeconfig encode: %w", err)
		}
		name := "kubeconfig-" + c.Name
		return filepath.Join(p.dir, name), writeFile(p.dir, name, raw)
	}
	return "", nil
}
