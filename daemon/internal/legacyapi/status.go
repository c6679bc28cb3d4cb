package legacyapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// The conditions of a Provisioner beside those of its NodePool.
const (
	// conditionServed is False if nothing is launched from the Provisioner.
	conditionServed = "Served"
	// conditionAdapted is True where something is served otherwise than the objects say.
	conditionAdapted = "Adapted"
	// conditionMigrate has the Provisioner as manifests of v1.
	conditionMigrate = "Migrate"
)

// Reasons of these conditions.
const (
	reasonServed           = "Served"
	reasonInvalid          = "Invalid"
	reasonNameTaken        = "NameTaken"
	reasonTemplateNotFound = "AWSNodeTemplateNotFound"
	reasonAdapted          = "Adapted"
	reasonConverted        = "Converted"
	reasonNotConvertible   = "NotConvertible"
	reasonTooLong          = "TooLong"
	reasonNotReferred      = "NotReferredTo"
)

// mostMigrated bounds the text of conditionMigrate in bytes: a status is no place for user
// data of any length.
const mostMigrated = 16 << 10

// ownConditions are those of this package.
func ownConditions() []string {
	return []string{conditionServed, conditionAdapted, conditionMigrate}
}

// conditionsIn reads the conditions of a status.
func conditionsIn(status map[string]any) []v1.Condition {
	var read struct {
		Conditions []v1.Condition `json:"conditions"`
	}
	readStatus(&unstructured.Unstructured{Object: map[string]any{"status": status}}, &read)
	return read.Conditions
}

// ownOf are the conditions of this package.
func ownOf(list []v1.Condition) []v1.Condition {
	return slices.DeleteFunc(slices.Clone(list), func(c v1.Condition) bool { return !slices.Contains(ownConditions(), c.Type) })
}

// keepConditions puts back the conditions of this package as they were.
func keepConditions(status map[string]any, were []v1.Condition) error {
	others := slices.DeleteFunc(conditionsIn(status), func(c v1.Condition) bool { return slices.Contains(ownConditions(), c.Type) })
	return setConditions(status, append(ownOf(were), others...))
}

func setConditions(status map[string]any, list []v1.Condition) error {
	written, err := plain(&struct {
		Conditions []v1.Condition `json:"conditions"`
	}{list})
	if err == nil {
		status["conditions"] = written["conditions"]
	}
	return err
}

// Sync brings the status of the legacy objects up to date, once. Only the elected replica
// calls it.
func (s *Server) Sync(ctx context.Context, now time.Time) error {
	s.upgrade()
	var faults []error
	for _, name := range s.names() {
		faults = append(faults, ignoreOutdated(s.syncProvisioner(ctx, name, now)))
	}
	for _, t := range s.listTemplates() {
		faults = append(faults, ignoreOutdated(s.syncTemplate(ctx, t, now)))
	}
	return errors.Join(faults...)
}

// upgrade serves all Provisioners anew if the control plane has another version: which images
// there are depends on it.
func (s *Server) upgrade() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Kubernetes()
	if s.servedFor == now {
		return
	}
	s.servedFor = now
	for _, name := range slices.Sorted(maps.Keys(s.provisioners)) {
		s.serve(name)
	}
}

func (s *Server) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.served))
}

func (s *Server) listTemplates() []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.templates))
}

// ignoreOutdated drops an error that says that the object is deleted or has changed: the
// next Sync sees the newer version.
func ignoreOutdated(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// assert gives the world what it should have, if a late answer has put back another
// version.
func (s *Server) assert(name string) (*unstructured.Unstructured, served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.served[name]
	if is == nil {
		return nil, served{}
	}
	if has, there := s.World.NodePool(name); is.pool != nil && (!there || has != is.pool) {
		s.World.Observe(is.pool)
	}
	if has, there := s.World.EC2NodeClass(name); is.class != nil && (!there || has != is.class) {
		s.World.Observe(is.class)
	}
	return s.provisioners[name], *is
}

func (s *Server) syncProvisioner(ctx context.Context, name string, now time.Time) error {
	p, is := s.assert(name)
	if p == nil {
		return nil
	}
	if p.GetDeletionTimestamp() != nil {
		return s.release(ctx, p, is)
	}
	were := conditionsIn(nested(p, "status"))
	want := slices.Clone(were)
	told := s.conditions(p, is, &want, now)
	if is.pool != nil {
		were, want = ownOf(were), ownOf(want) // the others are written with the NodePool
	}
	if equality.Semantic.DeepEqual(were, want) {
		return nil
	}
	err := s.writeStatus(ctx, name, func(status map[string]any) error {
		if is.pool == nil { // nobody else writes Ready
			return setConditions(status, want)
		}
		return keepConditions(status, want)
	})
	if err == nil {
		told()
	}
	return err
}

// nested is a field of the object that is a map, or nothing.
func nested(o *unstructured.Unstructured, field string) map[string]any {
	m, _, _ := unstructured.NestedMap(o.Object, field)
	return m
}

// release takes the finalizers off a deleted Provisioner whose objects the cluster has: they
// have the nodes, and hold what those need.
func (s *Server) release(ctx context.Context, p *unstructured.Unstructured, is served) error {
	gone := func(f string) bool {
		return is.pool == nil && f == v1.FinalizerTermination || is.class == nil && f == awsv1.FinalizerTermination
	}
	if !slices.ContainsFunc(p.GetFinalizers(), gone) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(p.GetFinalizers()), gone)
	got, err := kube.SetFinalizers(ctx, s.Provisioners, p, rest, metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return wrap(err, "provisioner %s finalizers write", p.GetName())
	}
	s.Observe(got)
	return nil
}

// conditions sets the conditions of the Provisioner. What is returned tells of those that
// are news, and is to be called once they are written.
func (s *Server) conditions(p *unstructured.Unstructured, is served, list *[]v1.Condition, now time.Time) (tell func()) {
	set := v1.NewConditionSet(p, list, v1.ConditionValidationSucceeded, v1.ConditionNodeClassReady)
	was := map[string]v1.Condition{}
	for _, c := range *list {
		was[c.Type] = c
	}
	if is.refusal != "" {
		set.Set(conditionServed, metav1.ConditionFalse, is.reason, is.refusal, now)
	} else {
		set.Set(conditionServed, metav1.ConditionTrue, reasonServed, "", now)
	}
	if is.pool == nil {
		set.Set(v1.ConditionValidationSucceeded, metav1.ConditionFalse, is.reason, is.refusal, now)
	}
	if len(is.read.Notes) > 0 {
		set.Set(conditionAdapted, metav1.ConditionTrue, reasonAdapted, legacy.Sentences(is.read.Notes), now)
	} else {
		set.Clear(conditionAdapted)
	}
	setMigrate(set, is.read, now)
	news := func(condition string) bool {
		c := set.Get(condition)
		return c.Reason != was[condition].Reason || c.Message != was[condition].Message
	}
	return func() {
		if is.refusal != "" && news(conditionServed) {
			s.event(p, corev1.EventTypeWarning, "NotServed", is.refusal)
		}
		if len(is.read.Notes) > 0 && news(conditionAdapted) {
			s.event(p, corev1.EventTypeWarning, "ServedAdapted", legacy.Sentences(is.read.Notes))
		}
	}
}

// setMigrate sets the condition that has the Provisioner in v1.
func setMigrate(set v1.ConditionSet, read legacy.Served, now time.Time) {
	const command = "karpenterd convert says what changes, also for pods"
	switch {
	case len(read.MigrateErrors) > 0:
		set.Set(conditionMigrate, metav1.ConditionFalse, reasonNotConvertible, legacy.Sentences(read.MigrateErrors), now)
	case len(read.Migrated) > mostMigrated:
		set.Set(conditionMigrate, metav1.ConditionTrue, reasonTooLong, fmt.Sprintf("the manifests of v1 have %d bytes, too many for a condition: write them with karpenterd convert, with the name of the Provisioner for the EC2NodeClass", len(read.Migrated)), now)
	case read.Migrated != "":
		set.Set(conditionMigrate, metav1.ConditionTrue, reasonConverted, "# Apply these objects, and delete the Provisioner then: the NodePool takes over its nodes.\n# "+command+".\n"+read.Migrated, now)
	}
}

// event sends an Event about the object, and logs it.
func (s *Server) event(o *unstructured.Unstructured, kind, reason, message string) {
	if s.Logger != nil {
		s.Logger.Warn("legacy object", "kind", o.GetKind(), "name", o.GetName(), "reason", reason, "says", message)
	}
	s.Events.Event(&corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}, kind, reason, v1.Bounded(message, v1.MostMessage))
}

// syncTemplate gives an AWSNodeTemplate the status that it had in v1alpha1, and conditions.
// It is that of the first served Provisioner that refers to it, by name.
func (s *Server) syncTemplate(ctx context.Context, t *unstructured.Unstructured, now time.Time) error {
	status := nested(t, "status")
	list := conditionsIn(status)
	want := map[string]any{}
	maps.Copy(want, status)
	set := v1.NewConditionSet(t, &list, conditionServed)
	switch user := s.userOf(t.GetName()); {
	case user == nil:
		set.Set(conditionServed, metav1.ConditionUnknown, reasonNotReferred, "no Provisioner refers to it in spec.providerRef.name", now)
	default:
		found, err := plain(&user.class.Status)
		if err != nil {
			return err
		}
		for _, field := range []string{"subnets", "securityGroups", "amis"} {
			delete(want, field)
			if value, there := found[field]; there {
				want[field] = value
			}
		}
		templateCondition(set, user, now)
	}
	if err := setConditions(want, list); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(status, want) {
		return nil
	}
	got, err := write(ctx, s.Templates, t, func(status map[string]any) error {
		clear(status)
		maps.Copy(status, want)
		return nil
	})
	if err != nil {
		return wrap(err, "awsnodetemplate %s status write", t.GetName())
	}
	s.Observe(got)
	return nil
}

// templateCondition says whether instances can be launched from the template.
func templateCondition(set v1.ConditionSet, user *served, now time.Time) {
	about := func(p legacy.Problem) bool { return strings.HasPrefix(p.Object, wire.KindAWSNodeTemplate+" ") }
	if own := slices.DeleteFunc(slices.Clone(user.read.Errors), func(p legacy.Problem) bool { return !about(p) }); len(own) > 0 {
		set.Set(conditionServed, metav1.ConditionFalse, reasonInvalid, legacy.Sentences(own), now)
		return
	}
	var wrong []string
	for _, c := range user.class.Status.Conditions {
		if c.IsFalse() && c.Type != v1.ConditionReady && c.Reason != awsv1.ReasonDependenciesNotReady {
			wrong = append(wrong, c.Type+": "+c.Message)
		}
	}
	switch {
	case len(wrong) > 0:
		set.Set(conditionServed, metav1.ConditionFalse, reasonInvalid, strings.Join(wrong, ". "), now)
	case user.class.Conditions().IsReady():
		set.Set(conditionServed, metav1.ConditionTrue, reasonServed, "", now)
	default:
		set.Set(conditionServed, metav1.ConditionUnknown, v1.ReasonAwaitingReconciliation, "what it selects is not known yet", now)
	}
}

// userOf is the first Provisioner that refers to the template and has a class in memory: one
// that is served, if there is one.
func (s *Server) userOf(template string) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *served
	for _, name := range slices.Sorted(maps.Keys(s.served)) {
		is := s.served[name]
		if is.class != nil && legacy.TemplateOf(s.provisioners[name].Object) == template && (found == nil || found.refusal != "" && is.refusal == "") {
			copied := *is
			found = &copied
		}
	}
	return found
}
