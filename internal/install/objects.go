package install

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// RoleARNAnnotation names the IAM role that EKS gives to the pods of a service account.
const RoleARNAnnotation = "eks.amazonaws.com/role-arn"

// CRDs returns the CustomResourceDefinitions: NodeClaim, NodePool, EC2NodeClass.
func CRDs() ([]*unstructured.Unstructured, error) {
	return parsed(slices.Concat(v1.CRDs(), awsv1.CRDs()))
}

// LegacyCRDs returns the CustomResourceDefinitions of the kinds before v1 that the daemon
// serves: Provisioner, AWSNodeTemplate.
func LegacyCRDs() ([]*unstructured.Unstructured, error) { return parsed(legacy.CRDs()) }

func parsed(documents [][]byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, document := range documents {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &crd.Object); err != nil {
			return nil, fmt.Errorf("custom resource definition parse: %w", err)
		}
		out = append(out, crd)
	}
	return out, nil
}

// Objects returns the objects that the daemon needs in the cluster, in the order in
// which they must be applied: the CustomResourceDefinitions first, the Deployment last.
// They are deleted in the reverse order. A shadow has no CustomResourceDefinitions. A namespace that Kubernetes itself makes is not
// in the result.
func Objects(options Options) ([]*unstructured.Unstructured, error) {
	o := options.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	out, err := o.definitions()
	if err != nil {
		return nil, err
	}
	for _, object := range o.typed() {
		converted, err := toUnstructured(object)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

// definitions are those that the installation brings. A shadow brings none: the kinds are there, or
// the cluster does without.
func (o Options) definitions() ([]*unstructured.Unstructured, error) {
	if o.Mode == ModeShadow {
		return nil, nil
	}
	out, err := CRDs()
	if err != nil || !o.LegacyAPI {
		return out, err
	}
	older, err := LegacyCRDs()
	return append(out, older...), err
}

func (o Options) typed() []runtime.Object {
	var objects []runtime.Object
	if !slices.Contains([]string{"default", "kube-system", "kube-public", "kube-node-lease"}, o.Namespace) {
		meta := o.meta("")
		meta.Name = o.Namespace
		objects = append(objects, &corev1.Namespace{TypeMeta: kind("v1", "Namespace"), ObjectMeta: meta})
	}
	account := o.account()
	objects = append(objects, account,
		&rbacv1.ClusterRole{TypeMeta: kind(rbacAPI, "ClusterRole"), ObjectMeta: o.clusterMeta(), Rules: o.clusterRules()},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacAPI, "ClusterRoleBinding"), ObjectMeta: o.clusterMeta(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: o.clusterMeta().Name}, Subjects: o.subjects(),
		})
	objects = append(objects, o.role(o.Namespace, o.Name+"-leader-election", o.leaseRules())...)
	objects = append(objects, o.role(o.Namespace, o.Name+"-configmaps", o.configMapRules())...)
	objects = append(objects, o.configMap(), o.service())
	if !o.Budget.None {
		objects = append(objects, o.disruptionBudget())
	}
	if o.MetricsNamespaces != nil { // before the pods, which are never open
		objects = append(objects, o.networkPolicy())
	}
	return append(objects, o.deployment(checksum(account)))
}

// account is the service account. Its annotations are what EKS gives to the pods.
func (o Options) account() *corev1.ServiceAccount {
	meta := o.meta(o.Namespace)
	meta.Name, meta.Annotations = o.ServiceAccount, maps.Clone(o.Annotations)
	if o.RoleARN != "" {
		if meta.Annotations == nil {
			meta.Annotations = map[string]string{}
		}
		meta.Annotations[RoleARNAnnotation] = o.RoleARN
	}
	return &corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: meta}
}

// configMap is the ConfigMap that the daemon fills. It is part of the installation so that
// it goes with it.
func (o Options) configMap() *corev1.ConfigMap {
	meta := o.meta(o.Namespace)
	meta.Name = o.configMapName()
	return &corev1.ConfigMap{TypeMeta: kind("v1", "ConfigMap"), ObjectMeta: meta}
}

const rbacAPI = rbacv1.GroupName + "/v1"

func kind(apiVersion, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: name}
}

func (o Options) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": DefaultName, "app.kubernetes.io/instance": o.Name}
}

// LeaseLabels are the labels of the daemon's Lease. They distinguish it from Karpenter's
// Lease, which has the same name.
func LeaseLabels() map[string]string { return map[string]string{"app.kubernetes.io/name": DefaultName} }

func (o Options) labels() map[string]string {
	labels := o.selector()
	maps.Copy(labels, o.Labels)
	return labels
}

func (o Options) meta(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: o.Name, Namespace: namespace, Labels: o.labels(), Annotations: maps.Clone(o.Annotations)}
}

// clusterMeta is that of objects without a namespace. A shadow has its own beside those of a daemon,
// whose rights it must not take.
func (o Options) clusterMeta() metav1.ObjectMeta {
	meta := o.meta("")
	if o.Mode == ModeShadow {
		meta.Name += "-shadow"
	}
	return meta
}

func (o Options) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: o.ServiceAccount, Namespace: o.Namespace}}
}

// role makes a Role of the daemon in a namespace, and its RoleBinding.
func (o Options) role(namespace, name string, rules []rbacv1.PolicyRule) []runtime.Object {
	meta := o.meta(namespace)
	meta.Name = name
	return []runtime.Object{
		&rbacv1.Role{TypeMeta: kind(rbacAPI, "Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			TypeMeta: kind(rbacAPI, "RoleBinding"), ObjectMeta: meta,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: o.subjects(),
		},
	}
}

func (o Options) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta: kind("v1", "Service"), ObjectMeta: o.meta(o.Namespace),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: o.selector(),
			Ports: []corev1.ServicePort{{Name: MetricsPortName, Port: o.MetricsPort, TargetPort: intstr.FromString(MetricsPortName), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// toUnstructured converts the object. It leaves out what the server fills in: status, an empty spec and null fields.
func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("daemon manifest %T convert: %w", object, err)
	}
	delete(fields, "status")
	if spec, ok := fields["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(fields, "spec")
	}
	dropNulls(fields)
	return &unstructured.Unstructured{Object: fields}, nil
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, child any) bool { return child == nil })
		for _, child := range v {
			dropNulls(child)
		}
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}
