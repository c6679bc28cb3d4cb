package translate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Protection says how long a pod or node must not be disrupted voluntarily. The zero
// Protection is none.
type Protection struct {
	Always bool
	Until  time.Time // zero where Always decides
	By     string    // the annotation that asks for it
}

// Holds says whether it protects now.
func (p Protection) Holds(now time.Time) bool { return p.Always || now.Before(p.Until) }

// PodProtection reads the pod's annotations. A duration counts from the pod's start.
func PodProtection(p *corev1.Pod) Protection {
	if p.Annotations[v1.AnnotationDoNotEvict] == v1.LabelTrue {
		return Protection{Always: true, By: v1.AnnotationDoNotEvict}
	}
	return protection(p.Annotations, p.Status.StartTime)
}

// NodeProtection reads the node's annotations. A duration counts from the node's
// creation.
func NodeProtection(n *corev1.Node) Protection {
	return protection(n.Annotations, &n.CreationTimestamp)
}

// protection reads karpenter.sh/do-not-disrupt. What has not started is protected by any
// duration. A value that cannot be read protects, too: whoever wrote it meant something,
// and an eviction cannot be taken back.
func protection(annotations map[string]string, start *metav1.Time) Protection {
	always, d, err := readProtection(annotations[v1.AnnotationDoNotDisrupt])
	switch {
	case always || err != nil || d > 0 && start == nil:
		return Protection{Always: true, By: v1.AnnotationDoNotDisrupt}
	case d > 0:
		return Protection{Until: start.Add(d), By: v1.AnnotationDoNotDisrupt}
	}
	return Protection{}
}

// readProtection reads a value of karpenter.sh/do-not-disrupt: for ever, or for how long.
// An empty value asks for nothing.
func readProtection(text string) (always bool, d time.Duration, err error) {
	switch text {
	case v1.LabelTrue:
		return true, 0, nil
	case "", "false":
		return false, 0, nil
	}
	d, err = time.ParseDuration(text)
	return false, d, err //nolint:wrapcheck // the callers say what they read
}

// Remark is what the user should know of an annotation: the reason of an Event, and its
// text.
type Remark struct{ Reason, Text string }

// Reasons of remarks. The first is Karpenter's.
const (
	RemarkInvalid = "InvalidDoNotDisruptAnnotation"
	RemarkOld     = "DeprecatedAnnotation"
	// RemarkNotCarriedOut is about objects of kinds that Karpenter carries out.
	RemarkNotCarriedOut = "NotCarriedOut"
)

// PodRemarks returns what is wrong with the annotations by which pods opt out.
func PodRemarks(p *corev1.Pod) []Remark {
	return remarks("pod "+p.Namespace+"/"+p.Name, p.Annotations, v1.AnnotationDoNotEvict,
		"use "+v1.AnnotationDoNotDisrupt+": \"true\", which means the same")
}

// NodeRemarks returns what is wrong with the annotations by which nodes opt out.
func NodeRemarks(n *corev1.Node) []Remark {
	return remarks("node "+n.Name, n.Annotations, v1.AnnotationDoNotConsolidate,
		"use "+v1.AnnotationDoNotDisrupt+": \"true\", which also keeps the node from drift and expiry")
}

func remarks(object string, annotations map[string]string, old, remedy string) (out []Remark) {
	text := annotations[v1.AnnotationDoNotDisrupt]
	if _, _, err := readProtection(text); err != nil {
		out = append(out, Remark{RemarkInvalid, fmt.Sprintf(
			"%s has the annotation %s: %q, which is neither \"true\" nor \"false\" nor a duration such as \"4h\" or \"90m\". Until that is corrected, it protects as \"true\" does.",
			object, v1.AnnotationDoNotDisrupt, text)})
	}
	if annotations[old] == v1.LabelTrue {
		out = append(out, Remark{RemarkOld, fmt.Sprintf("%s has the annotation %s of an older API, which still works: %s.", object, old, remedy)})
	}
	return out
}
