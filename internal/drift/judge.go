package drift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Reason is the reason of the condition Drifted.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	NodePoolDrifted          Reason = "NodePoolDrifted"
	RequirementsDrifted      Reason = "RequirementsDrifted"
	InstanceTypeNotFound     Reason = "InstanceTypeNotFound"
	NodeClassDrift           Reason = "NodeClassDrift"
	AMIDrift                 Reason = "AMIDrift"
	SecurityGroupDrift       Reason = "SecurityGroupDrift"
	SubnetDrift              Reason = "SubnetDrift"
	CapacityReservationDrift Reason = "CapacityReservationDrift"
)

// Pool is a NodePool as NodeClaims are compared with it. Make it with ReadPool.
type Pool struct {
	object       *v1.NodePool
	hash         string
	requirements label.Requirements
}

// ReadPool reads a NodePool. It returns nil if the pool is not valid or goes: then
// nothing is known of what it asks for.
func ReadPool(p *v1.NodePool) *Pool {
	read := translate.Pool(p)
	if !read.Ready || read.Deleting {
		return nil
	}
	return &Pool{object: p, hash: PoolHash(p), requirements: read.Requirements}
}

// Class is an EC2NodeClass as NodeClaims are compared with it. Make it with ReadClass.
type Class struct {
	object *awsv1.EC2NodeClass
	hash   string
}

// ReadClass reads an EC2NodeClass. It returns nil if the class is not ready in its
// newest version, or goes: then what its selectors resolve to is not known.
func ReadClass(c *awsv1.EC2NodeClass) *Class {
	if c.DeletionTimestamp != nil || !c.Conditions().IsReady() {
		return nil
	}
	return &Class{object: c, hash: ClassHash(c)}
}

// Instance is what EC2 says about the instance of a NodeClaim.
type Instance struct {
	Image, Subnet  string
	SecurityGroups []string // ids
	// Reservation is the capacity reservation that the instance was launched for.
	Reservation string
}

// Sale says whether EC2 sells an instance type where a node is.
type Sale int

// The answers.
const (
	SaleUnknown Sale = iota
	Sold
	NotSold       // in no zone of the region
	NotSoldInZone // in other zones of the region
)

// Evidence is what is known about a NodeClaim that has an instance. Pool, Class and
// Instance are nil if they are not known.
type Evidence struct {
	Claim      *v1.NodeClaim
	Pool       *Pool
	Class      *Class
	TypeLabels label.Labels // of the instance type, by the catalogue; empty if it does not know the type
	Sale       Sale
	Instance   *Instance
}

// Verdict says whether a NodeClaim has drifted.
type Verdict struct {
	Reason  Reason // empty if no drift is known
	Message string // what differs
	// open are the reasons that could not be looked for.
	open []Reason
}

// Refutes says whether a condition Drifted with this reason no longer holds: no drift is
// known, and the drift of that reason is known to be over. A condition with the reason
// of another program is refuted when everything could be looked at.
func (v Verdict) Refutes(reason string) bool {
	if v.Reason != "" {
		return false
	}
	if slices.ContainsFunc(checks(), func(c check) bool { return string(c.reason) == reason }) {
		return !slices.Contains(v.open, Reason(reason))
	}
	return len(v.open) == 0
}

// check looks for one kind of drift. The message is empty if there is none; known is
// false if that cannot be said.
type check struct {
	reason Reason
	look   func(Evidence) (message string, known bool)
}

func checks() []check {
	return []check{
		{NodePoolDrifted, poolHash},
		{RequirementsDrifted, requirements},
		{InstanceTypeNotFound, instanceType},
		{NodeClassDrift, classHash},
		{AMIDrift, image},
		{SecurityGroupDrift, securityGroups},
		{SubnetDrift, subnet},
		{CapacityReservationDrift, reservation},
	}
}

// Judge compares. The first reason that holds is the verdict.
func Judge(e Evidence) Verdict {
	var v Verdict
	for _, c := range checks() {
		message, known := c.look(e)
		switch {
		case !known:
			v.open = append(v.open, c.reason)
		case message != "":
			v.Reason, v.Message = c.reason, message
			return v
		}
	}
	return v
}

func poolHash(e Evidence) (string, bool) {
	if e.Pool == nil || e.Claim.Annotations[v1.AnnotationNodePoolHashVersion] != Version {
		return "", false
	}
	was := e.Claim.Annotations[v1.AnnotationNodePoolHash]
	if was == e.Pool.hash {
		return "", true
	}
	return fmt.Sprintf("NodePool %s has another template than when the NodeClaim was made: %s",
		e.Pool.object.Name, what(was, e.Pool.hash)), true
}

// what says in which fields two hashes differ.
func what(was, is string) string {
	if len(fieldsOf(was)) == 0 {
		return "so Karpenter found before karpenterd took over"
	}
	return strings.Join(changed(was, is), ", ")
}

func requirements(e Evidence) (string, bool) {
	if e.Pool == nil {
		return "", false
	}
	labels, known := e.labels(), true
	for _, r := range e.Pool.requirements {
		if r.MetBy(labels) {
			continue
		}
		value, there := labels.Get(r.Key())
		if !there && !e.lacks(r.Key()) {
			known = false
			continue
		}
		has := "is " + value
		if !there {
			has = "is absent"
		}
		return fmt.Sprintf("NodePool %s requires %s; the label %s", e.Pool.object.Name, r, has), true
	}
	return "", known
}

// labels are those of the NodeClaim, and those of its instance type that it lacks.
func (e Evidence) labels() label.Labels {
	return e.TypeLabels.Merge(label.FromMap(e.Claim.Labels))
}

// lacks says whether the absence of the label means that the machine has no such thing,
// rather than that nobody has written it.
func (e Evidence) lacks(key string) bool {
	switch key {
	case label.Reservation, label.ReservationType, label.ReservationInterruptible:
		return true
	case label.Tenancy: // each instance has one
		return false
	}
	return !label.OfInstance(key) || !label.OfOffering(key) && len(e.TypeLabels) > 0
}

func instanceType(e Evidence) (string, bool) {
	switch name := e.Claim.Labels[label.InstanceType]; e.Sale {
	case NotSold:
		return fmt.Sprintf("EC2 no longer offers instance type %s in this region", name), true
	case NotSoldInZone:
		return fmt.Sprintf("EC2 no longer offers instance type %s in zone %s", name, e.Claim.Labels[label.Zone]), true
	case SaleUnknown, Sold:
	}
	return "", e.Sale == Sold
}

func classHash(e Evidence) (string, bool) {
	if e.Class == nil || e.Claim.Annotations[awsv1.AnnotationNodeClassHashVersion] != Version {
		return "", false
	}
	was := e.Claim.Annotations[awsv1.AnnotationNodeClassHash]
	if was == e.Class.hash {
		return "", true
	}
	return fmt.Sprintf("EC2NodeClass %s has another spec than when the instance was launched: %s",
		e.Class.object.Name, what(was, e.Class.hash)), true
}

func image(e Evidence) (string, bool) {
	has := e.Claim.Status.ImageID
	if has == "" && e.Instance != nil {
		has = e.Instance.Image
	}
	if has == "" || e.Class == nil {
		return "", false
	}
	want, known := imageFor(e)
	switch {
	case !known:
		return "", false
	case has == want:
		return "", true
	case want == "":
		return fmt.Sprintf("the instance runs image %s, EC2NodeClass %s selects no image for instance type %s",
			has, e.Class.object.Name, e.Claim.Labels[label.InstanceType]), true
	}
	return fmt.Sprintf("the instance runs image %s, EC2NodeClass %s selects %s", has, e.Class.object.Name, want), true
}

// imageFor returns the image that the class selects for the instance type, as a launch does;
// empty if it selects others only. Where nobody can say whether a launch takes an image, none
// after it is known. A class without images has not found any, which says nothing about nodes.
func imageFor(e Evidence) (id string, known bool) {
	labels := e.TypeLabels
	if len(labels) == 0 { // of a type without an image, too: no plan can use it
		labels = label.FromMap(e.Claim.Labels)
	}
	for _, image := range e.Class.object.Status.AMIs {
		if fits, known := translate.Suits(image, labels, e.typed()); fits || !known {
			return image.ID, known
		}
	}
	return "", len(e.Class.object.Status.AMIs) > 0
}

// typed says whether a label that the instance type would have is among those known, if it
// has it. The launch writes all of them, and these two are of every type.
func (e Evidence) typed() bool {
	return len(e.TypeLabels) > 0 || e.Claim.Labels[awsv1.LabelInstanceCPU] != "" && e.Claim.Labels[awsv1.LabelInstanceMemory] != ""
}

func securityGroups(e Evidence) (string, bool) {
	if e.Class == nil || e.Instance == nil {
		return "", false
	}
	var want []string
	for _, g := range e.Class.object.Status.SecurityGroups {
		want = append(want, g.ID)
	}
	has := slices.Sorted(slices.Values(e.Instance.SecurityGroups))
	slices.Sort(want)
	if len(has) == 0 || len(want) == 0 {
		return "", false
	}
	if slices.Equal(has, want) {
		return "", true
	}
	return fmt.Sprintf("the instance has security groups %s, EC2NodeClass %s selects %s",
		strings.Join(has, " "), e.Class.object.Name, strings.Join(want, " ")), true
}

func subnet(e Evidence) (string, bool) {
	if e.Class == nil || e.Instance == nil || e.Instance.Subnet == "" {
		return "", false
	}
	var want []string
	for _, s := range e.Class.object.Status.Subnets {
		want = append(want, s.ID)
	}
	if len(want) == 0 {
		return "", false
	}
	if slices.Contains(want, e.Instance.Subnet) {
		return "", true
	}
	slices.Sort(want)
	return fmt.Sprintf("the instance is in subnet %s, EC2NodeClass %s selects %s",
		e.Instance.Subnet, e.Class.object.Name, strings.Join(want, " ")), true
}

// reservation takes an empty list of reservations as evidence only where the class
// selects none.
func reservation(e Evidence) (string, bool) {
	if e.Class == nil || e.Instance == nil {
		return "", false
	}
	has, class := e.Instance.Reservation, e.Class.object
	if has == "" {
		return "", true
	}
	if len(class.Status.CapacityReservations) == 0 && len(class.Spec.CapacityReservationSelectorTerms) > 0 {
		return "", false
	}
	if slices.ContainsFunc(class.Status.CapacityReservations, func(r awsv1.CapacityReservation) bool { return r.ID == has }) {
		return "", true
	}
	return fmt.Sprintf("the instance is in capacity reservation %s, which EC2NodeClass %s does not select", has, class.Name), true
}
