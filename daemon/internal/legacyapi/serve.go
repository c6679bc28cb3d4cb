package legacyapi

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// served is what is in memory for a Provisioner.
type served struct {
	pool  *v1.NodePool        // nil: the cluster has a NodePool of the name
	class *awsv1.EC2NodeClass // nil: the cluster has an EC2NodeClass of the name
	// refusal says why nothing is launched from it, with the reason for programs.
	reason, refusal string
	read            legacy.Served
	good            legacy.Served // the last that could be served: nodes that exist follow it
}

// serve makes the objects of a Provisioner anew, and gives them to the world.
func (s *Server) serve(name string) {
	p := s.provisioners[name]
	if p == nil {
		return
	}
	was := s.served[name]
	is := s.read(p, was)
	s.served[name] = is
	if was != nil {
		s.withdraw(&served{pool: gone(was.pool, is.pool == nil), class: gone(was.class, is.class == nil)})
	}
	if is.class != nil {
		s.World.Observe(is.class)
	}
	if is.pool != nil {
		s.World.Observe(is.pool)
	}
}

// gone is the object if it is to be deleted.
func gone[T any](object *T, goes bool) *T {
	if goes {
		return object
	}
	return nil
}

func (s *Server) withdraw(was *served) {
	if was.pool != nil {
		s.World.Withdraw(was.pool)
	}
	if was.class != nil {
		s.World.Withdraw(was.class)
	}
}

// read makes the objects of a Provisioner. A refused one has the last good form, or none.
func (s *Server) read(p *unstructured.Unstructured, was *served) *served {
	name := p.GetName()
	template, revision := s.templateOf(p)
	out := &served{}
	if was != nil {
		out.good = was.good
	}
	live, err := s.live(p, template)
	if err == nil {
		out.read = legacy.Serve(live, s.Kubernetes())
	} else {
		out.read.Errors = []legacy.Problem{{Object: fmt.Sprintf("%s %q", p.GetKind(), name), What: "cannot be read: " + err.Error()}}
	}
	if len(out.read.Errors) == 0 {
		out.good = out.read
	}
	_, poolTaken := s.pools[name]
	_, classTaken := s.classes[name]
	out.reason, out.refusal = refusal(p, out.read, template == nil, poolTaken, classTaken)
	version := newest(p.GetResourceVersion(), revision)
	if !poolTaken {
		out.pool = poolOf(p, out, version)
	}
	if !classTaken {
		out.class = classOf(p, out, version)
	}
	return out
}

// templateOf is the AWSNodeTemplate of the Provisioner, nil for none, with the version of
// its last change, even if that was its deletion.
func (s *Server) templateOf(p *unstructured.Unstructured) (template *unstructured.Unstructured, revision string) {
	name := legacy.TemplateOf(p.Object)
	if template = s.templates[name]; template == nil {
		return nil, s.deleted[name]
	}
	return template, template.GetResourceVersion()
}

func (s *Server) live(p, template *unstructured.Unstructured) (legacy.Live, error) {
	out := legacy.Live{Settings: s.settings}
	var err error
	if out.Provisioner, err = textOf(p); err == nil && template != nil {
		out.Template, err = textOf(template)
	}
	return out, err
}

// textOf is the object in JSON, without what a conversion does not look at.
func textOf(o *unstructured.Unstructured) (string, error) {
	slim := map[string]any{}
	for key, value := range o.Object {
		if key != "status" {
			slim[key] = value
		}
	}
	data, err := json.Marshal(slim)
	return string(data), wrap(err, "%s %s write", o.GetKind(), o.GetName())
}

// refusal says why nothing is launched from the Provisioner; "" if it is served.
func refusal(p *unstructured.Unstructured, read legacy.Served, noTemplate, poolTaken, classTaken bool) (reason, text string) {
	name := p.GetName()
	switch {
	case poolTaken:
		return reasonNameTaken, fmt.Sprintf("NodePool %q of the cluster has the name, so it has the nodes, and nothing is launched from the Provisioner: delete the Provisioner, or rename one of the two", name)
	case classTaken:
		return reasonNameTaken, fmt.Sprintf("EC2NodeClass %q of the cluster has the name that the Provisioner's own class would have: apply the NodePool of condition %s, too, or rename one of the two", name, conditionMigrate)
	case len(read.Errors) > 0 && noTemplate && legacy.TemplateOf(p.Object) != "":
		return reasonTemplateNotFound, legacy.Sentences(read.Errors)
	case len(read.Errors) > 0:
		return reasonInvalid, legacy.Sentences(read.Errors)
	}
	return "", ""
}

// poolOf makes the NodePool in memory. Its metadata are those of the Provisioner.
func poolOf(p *unstructured.Unstructured, of *served, version string) *v1.NodePool {
	out := &v1.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: wire.VersionProvisioner, Kind: wire.KindProvisioner}}
	if of.good.Pool != nil {
		out.Spec = *of.good.Pool.Spec.DeepCopy()
	}
	out.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: p.GetName()}
	out.ObjectMeta = metaOf(p, version, of.refusal, v1.FinalizerTermination)
	readStatus(p, &out.Status)
	return out
}

// classOf makes the EC2NodeClass in memory.
func classOf(p *unstructured.Unstructured, of *served, version string) *awsv1.EC2NodeClass {
	out := &awsv1.EC2NodeClass{TypeMeta: metav1.TypeMeta{APIVersion: wire.VersionAWSNodeTemplate, Kind: wire.KindAWSNodeTemplate}}
	if of.good.Class != nil {
		out.Spec = *of.good.Class.Spec.DeepCopy()
	}
	out.ObjectMeta = metaOf(p, version, of.refusal, awsv1.FinalizerTermination)
	out.UID += "-class"
	out.Generation = generationOf(out)
	readStatus(p, &out.Status, statusClass)
	return out
}

// generationOf is a number that another spec changes, and nothing else: a change of the
// Provisioner that its class has no part in must not leave it unready until AWS has been
// asked anew. It does not grow.
func generationOf(c *awsv1.EC2NodeClass) int64 {
	data, err := json.Marshal([]any{c.Spec, c.Annotations[v1.AnnotationRefused]})
	if err != nil {
		return c.Generation
	}
	sum := sha256.Sum256(data)
	return int64(binary.BigEndian.Uint64(sum[:8])>>(64-generationBits)) + 1
}

// generationBits keep the number exact wherever JSON is read as floating point.
const generationBits = 52

// metaOf is the metadata of an object in memory, with the finalizer if the Provisioner has
// it.
func metaOf(p *unstructured.Unstructured, version, refusal, finalizer string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Name: p.GetName(), UID: p.GetUID(), ResourceVersion: version, Generation: p.GetGeneration(),
		CreationTimestamp: p.GetCreationTimestamp(), DeletionTimestamp: p.GetDeletionTimestamp(),
		Labels: p.GetLabels(), Annotations: maps.Clone(p.GetAnnotations()),
	}
	delete(out.Annotations, v1.AnnotationRefused)
	if refusal != "" {
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[v1.AnnotationRefused] = refusal
	}
	if slices.Contains(p.GetFinalizers(), finalizer) {
		out.Finalizers = []string{finalizer}
	}
	return out
}

// readStatus reads a part of the status, or nothing of a status that somebody else wrote.
func readStatus[T any](p *unstructured.Unstructured, to *T, path ...string) {
	status, there, err := unstructured.NestedMap(p.Object, append([]string{"status"}, path...)...)
	if err != nil || !there {
		return
	}
	var read T
	if runtime.DefaultUnstructuredConverter.FromUnstructured(status, &read) == nil {
		*to = read
	}
}

// newest is the newer of two resource versions.
func newest(a, b string) string {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX == nil && errY == nil && y > x {
		return b
	}
	return a
}

// newer reports whether a is another and a newer version than b, or another object.
func newer(a, b *unstructured.Unstructured) bool {
	return a.GetResourceVersion() != b.GetResourceVersion() && newest(a.GetResourceVersion(), b.GetResourceVersion()) == a.GetResourceVersion()
}
