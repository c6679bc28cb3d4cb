//go:build lab

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// whoami prints who the pod program is at AWS and at the API server.
func whoami(ctx context.Context, w http.ResponseWriter) error {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	caller, err := sts.NewFromConfig(loaded).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return err
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	_, _ = fmt.Fprintf(w, "aws: %s\nkubernetes: %v\n", aws.ToString(caller.Arn), err)
	return nil
}

func annotatedPod(t *testing.T, w world) {
	issuer := strings.TrimPrefix(issuerOf(t, w), "https://")
	trust := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRoleWithWebIdentity",
		"Principal":{"Federated":"arn:aws:iam::%s:oidc-provider/%s"},
		"Condition":{"StringEquals":{"%s:aud":"sts.amazonaws.com","%s:sub":"system:serviceaccount:default:right"}}}]}`, lab.Account, issuer, issuer, issuer)
	role, err := w.iam.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("controller"), AssumeRolePolicyDocument: &trust})
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{"right", "wrong"} {
		_, err := w.Admin.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Name: account, Annotations: map[string]string{"eks.amazonaws.com/role-arn": *role.Role.Arn},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := bare{clients: w.Admin}
	said := map[string]string{}
	for _, account := range []string{"right", "wrong"} {
		pod := programPod("p-"+account, install.ReleaseImage("1.2.3").String())
		pod.Spec.ServiceAccountName = account
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: roleVariable, Value: "pod"})
		pod.Spec.Containers[0].Args = []string{account, "$(POD_IP):8080"}
		createPod(t, b, pod)
		podIs(t, b, pod.Name, "ready", func(_ *corev1.Pod, s corev1.ContainerStatus) bool { return s.Ready })
		eventually(t, func() error {
			said[account] = get(t, "http://"+localAddress(t, account)+":8080/whoami")
			if said[account] == "" {
				return fmt.Errorf("no answer")
			}
			return nil
		})
	}
	if want := "aws: arn:aws:sts::" + lab.Account + ":assumed-role/controller/"; !strings.Contains(said["right"], want) {
		t.Errorf("the pod said %q, want %q", said["right"], want)
	}
	if want := `User "system:serviceaccount:default:right" cannot list`; !strings.Contains(said["right"], want) {
		t.Errorf("the pod said %q, want %q", said["right"], want)
	}
	if !strings.Contains(said["wrong"], "AccessDenied") {
		t.Errorf("a service account that the trust policy does not name was told %q, want AccessDenied", said["wrong"])
	}
}

// issuerOf is the cluster's OIDC issuer as EKS tells it.
func issuerOf(t *testing.T, w world) string {
	t.Helper()
	cluster, err := w.describe(t)
	if err != nil {
		t.Fatal(err)
	}
	return *cluster.Identity.Oidc.Issuer
}
