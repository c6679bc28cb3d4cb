package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// Objects returns the objects that the values ask for, in the order in which they are applied. release
// is the image of the build, which counts where the values name no tag and no digest. An
// error has one line for each wrong field, which begins with the field's name.
func (v Values) Objects(namespace string, release install.Image) ([]*unstructured.Unstructured, error) {
	given, err := decode(mustJSON(v))
	if err != nil {
		return nil, err
	}
	if err := check(given, true); err != nil {
		return nil, err
	}
	options := v.options(namespace)
	image, imageErr := v.Controller.Image.reference(release)
	options.Image = image
	if imageErr != nil {
		options.Image = v.Controller.Image.Repository // the image is reported, and nothing deployed
	}
	objects, err := install.Objects(options)
	if err = errors.Join(imageErr, inWordsOfValues(err)); err != nil {
		return nil, err
	}
	if !v.Definitions.Enabled {
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
	}
	return objects, nil
}

// ErrNoImage means that neither the build nor the values say which image to deploy.
var ErrNoImage = errors.New("no image to deploy")

// reference is the image with the values in place of the release's.
func (i Image) reference(release install.Image) (string, error) {
	tag, digest := i.Tag, i.Digest
	if tag == "" && digest == "" {
		tag, digest = release.Tag, release.Digest
	}
	if tag == "" && digest == "" {
		return "", fmt.Errorf("controller.image: %w: this build is no release, so it names no image: build and push one with make image, and set controller.image.repository, "+
			"and controller.image.digest or controller.image.tag (--image registry.example.com/karpenterd@sha256:...)", ErrNoImage)
	}
	registry, repository, _ := strings.Cut(i.Repository, "/")
	for _, err := range []error{install.CheckRegistry(registry), install.CheckRepository(repository)} {
		if err != nil {
			return "", fmt.Errorf("controller.image.repository: %w", err)
		}
	}
	if tag != "" {
		if err := install.CheckTag(tag); err != nil {
			return "", fmt.Errorf("controller.image.tag: %w", err)
		}
	}
	if digest != "" {
		if err := install.CheckDigest(digest); err != nil {
			return "", fmt.Errorf("controller.image.digest: %w", err)
		}
	}
	return install.Image{Registry: registry, Repository: repository, Tag: tag, Digest: digest}.String(), nil
}

// ImageOf are the values of a whole reference.
func ImageOf(reference string) Image {
	i := install.ParseImage(reference)
	return Image{Repository: i.Registry + "/" + i.Repository, Tag: i.Tag, Digest: i.Digest}
}

func (v Values) options(namespace string) install.Options {
	o := install.Options{
		Namespace: namespace, ServiceAccount: v.ServiceAccount.Name, RoleARN: v.ServiceAccount.RoleARN, Replicas: v.Replicas,
		ClusterName: v.Settings.ClusterName, ClusterEndpoint: v.Settings.ClusterEndpoint, Region: v.Settings.Region, FIPS: v.Settings.UseFIPSEndpoint, DualStack: v.Settings.UseDualStack, QueueName: v.Settings.InterruptionQueue,
		Mode: v.Mode, LogLevel: v.LogLevel, PreferencePolicy: v.Settings.PreferencePolicy, MinValuesPolicy: v.Settings.MinValuesPolicy, Landing: v.Settings.Landing, NodeCost: v.Settings.NodeCost,
		PauseDisruption: v.Settings.PauseDisruption, ReservedENIs: v.Settings.ReservedENIs, MemoryOverhead: v.Settings.VMMemoryOverhead,
		ClusterCA: v.Settings.ClusterCABundle, IsolatedVPC: v.Settings.IsolatedVPC, LogKeys: v.LogKeys, LegacyAPI: v.Definitions.Legacy, SchedulerConfig: v.Settings.SchedulerConfig,
		Labels: v.AdditionalLabels, Annotations: v.AdditionalAnnotations,
	}
	if len(o.Annotations) == 0 {
		o.Annotations = nil // no annotations have one checksum
	}
	o.Pods = install.Pods{
		Resources:   &corev1.ResourceRequirements{Requests: v.Controller.Resources.Requests, Limits: v.Controller.Resources.Limits},
		Tolerations: append([]corev1.Toleration{}, v.Tolerations...), NodeSelector: v.NodeSelector, PriorityClass: &v.PriorityClassName,
		PullPolicy: corev1.PullPolicy(v.ImagePullPolicy), Environment: v.Controller.Environment, PodLabels: v.PodLabels, PodAnnotations: v.PodAnnotations,
		MetricsPort: v.Controller.Metrics.Port, HealthPort: v.Controller.HealthProbe.Port,
		Budget: install.Budget{None: !v.PodDisruptionBudget.Enabled, MaxUnavailable: text(v.PodDisruptionBudget.MaxUnavailable), MinAvailable: text(v.PodDisruptionBudget.MinAvailable)},
	}
	for _, secret := range v.ImagePullSecrets {
		o.PullSecrets = append(o.PullSecrets, secret.Name)
	}
	if v.MetricsNamespaces != nil {
		o.MetricsNamespaces = append([]string{}, *v.MetricsNamespaces...)
	}
	if !equality.Semantic.DeepEqual(v.Affinity, corev1.Affinity{}) {
		o.Affinity = &v.Affinity
	}
	return o
}

func text(value *intstr.IntOrString) string {
	if value == nil {
		return ""
	}
	return value.String()
}

// fieldOf has the field of each option, by the option in the words of package install.
func fieldOf() map[string]string {
	return map[string]string{
		"namespace": "namespace", "service account": "serviceAccount.name", "image": "controller.image", "replicas": "replicas", "region": "settings.region",
		"cluster name": "settings.clusterName", "cluster endpoint": "settings.clusterEndpoint", "role ARN": "serviceAccount.roleARN", "queue name": "settings.interruptionQueue",
		"mode": "mode", "log level": "logLevel", "preference policy": "settings.preferencePolicy", "min-values policy": "settings.minValuesPolicy", "landing": "settings.landing", "node cost": "settings.nodeCost",
		"reserved network interfaces": "settings.reservedENIs", "VM memory overhead": "settings.vmMemoryOverheadPercent", "cluster CA bundle": "settings.clusterCABundle", "log keys": "logKeys",
		"label": "additionalLabels", "annotation": "additionalAnnotations", "pod label": "podLabels", "pod annotation": "podAnnotations",
		"resources": "controller.resources", "node selector": "nodeSelector", "priority class": "priorityClassName",
		"pull policy": "imagePullPolicy", "pull secret": "imagePullSecrets", "environment": "controller.environment",
		"ports": "controller.metrics.port", "metrics port": "controller.metrics.port", "health probe port": "controller.healthProbe.port", "disruption budget": "podDisruptionBudget",
		"metrics namespaces": "metricsNamespaces",
	}
}

// inWordsOfValues names the fields that an error about options is about; nil for none.
func inWordsOfValues(err error) error {
	if err == nil {
		return nil
	}
	var out []error
	for _, wrong := range install.WrongOptions(err) {
		field := fieldOf()[wrong.Option]
		if number, ok := strings.CutPrefix(wrong.Option, "toleration "); ok {
			field = "tolerations[" + number + "]"
		}
		out = append(out, fmt.Errorf("%s: %s", field, strings.TrimPrefix(wrong.Unwrap().Error(), wrong.Option+": ")))
	}
	if len(out) == 0 {
		return err
	}
	return errors.Join(out...)
}
