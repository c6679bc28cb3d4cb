package install

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// Namespaces with pod-security.kubernetes.io/enforce=restricted take no other pods.
func TestDeployment_PodsPassTheRestrictedPodSecurityStandard(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	priority, all := "", options()
	all.Replicas, all.RoleARN, all.FIPS, all.DualStack, all.SchedulerConfig = 3, "", true, true, "podTopologySpread: {}"
	all.Pods = Pods{
		Resources:   &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}},
		Tolerations: []corev1.Toleration{}, NodeSelector: map[string]string{"a": "b"}, Affinity: &corev1.Affinity{}, PriorityClass: &priority,
		PullSecrets: []string{"mirror"}, Environment: map[string]string{"GOMEMLIMIT": "1GiB"}, PodLabels: map[string]string{"a": "b"}, PodAnnotations: map[string]string{"a": "b"},
	}
	for name, o := range map[string]Options{"defaults": options(), "all options": all} {
		pod := deploymentOf(t, o).Spec.Template
		for _, check := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			if !check.Allowed {
				t.Errorf("%s: %s: %s", name, check.ForbiddenReason, check.ForbiddenDetail)
			}
		}
	}
	open := deploymentOf(t, options()).Spec.Template
	open.Spec.Containers[0].SecurityContext = nil
	if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &open.ObjectMeta, &open.Spec)); result.Allowed {
		t.Error("a container without a security context passes, too: the test tells nothing")
	}
}
