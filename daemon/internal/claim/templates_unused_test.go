package claim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// templated is EC2 with launch templates.
type templated struct {
	launches

	names   []string
	deleted []string
	faults  int // how many deletions fail
	tried   int
}

func (e *templated) LaunchTemplates(context.Context, map[string]string) ([]string, error) {
	return slices.Clone(e.names), nil
}

func (e *templated) DeleteLaunchTemplate(_ context.Context, name string) error {
	if e.tried++; e.faults > 0 {
		e.faults--
		return errLost
	}
	e.names = slices.DeleteFunc(e.names, func(n string) bool { return n == name })
	e.deleted = append(e.deleted, name)
	return nil
}

// old is the name of a launch template that an earlier version of a class had.
func old(i int) string { return fmt.Sprintf("karpenter.k8s.aws/%020x", 0xabc000+i) }

func newTemplated(t *testing.T, names ...string) (launching, *templated, *TemplateCollector, *int) {
	t.Helper()
	l, left := newLaunching(t), new(int)
	ec2 := &templated{names: names}
	ec2.answer = errLost
	l.ec2, l.controller.Cloud = &ec2.launches, ec2
	return l, ec2, &TemplateCollector{Controller: l.controller, Counted: func(n int) { *left = n }}, left
}

// sweep looks once more, so much later.
func (c *TemplateCollector) sweepAfter(t *testing.T, l launching, later time.Duration) error {
	t.Helper()
	l.now = l.now.Add(later)
	return c.Sweep(t.Context(), l.now)
}

// An account may have 5,000 in a Region, and each image of a class makes others.
func TestTemplates_ThoseThatNoLaunchNeedsAreDeletedInTheSecondSweep(t *testing.T) {
	l, ec2, collector, left := newTemplated(t, old(1), old(2))
	for n, want := range []int{2, 0} {
		if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil || *left != want || len(ec2.names) != want {
			t.Errorf("sweep %d: %d counted, %q there, error %v; want %d", n+1, *left, ec2.names, err, want)
		}
	}
}

func TestTemplates_WhatALaunchNamesStays(t *testing.T) {
	l, ec2, collector, _ := newTemplated(t)
	request := l.try(t)
	ec2.names = []string{request.LaunchTemplate}
	for range 20 { // the NodeClaim waits for its instance: its retry sends the same request
		if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil {
			t.Fatal(err)
		}
	}
	if len(ec2.deleted) > 0 {
		t.Errorf("deleted %q while a NodeClaim names it", ec2.deleted)
	}
	claim, _ := l.NodeClaim("pool-x")
	claim.Status.ProviderID = "aws:///us-west-2a/i-1"
	l.controller.templates.named.Store(request.LaunchTemplate, l.now)
	for range 5 {
		if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil || len(ec2.deleted) > 0 {
			t.Fatalf("deleted %q within an hour of the launch, error %v", ec2.deleted, err)
		}
	}
	for range 3 {
		if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(ec2.deleted, []string{request.LaunchTemplate}) {
		t.Errorf("deleted %q an hour after the launch", ec2.deleted)
	}
}

// Who needs a launch template again makes it again.
func TestTemplates_ALaunchMakesADeletedOneAnew(t *testing.T) {
	l, ec2, collector, _ := newTemplated(t)
	request := l.try(t)
	claim, _ := l.NodeClaim("pool-x")
	delete(claim.Annotations, v1.AnnotationLaunchRequest)
	ec2.names = []string{request.LaunchTemplate}
	for range 8 {
		if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil {
			t.Fatal(err)
		}
	}
	before := ec2.templates
	if again := l.try(t); len(ec2.deleted) != 1 || again.LaunchTemplate != request.LaunchTemplate || ec2.templates != before+1 {
		t.Errorf("deleted %q, launched with %q, made %d times", ec2.deleted, again.LaunchTemplate, ec2.templates)
	}
}

func TestTemplates_OneThatCannotBeDeletedKeepsNoOther(t *testing.T) {
	names := make([]string, 0, templatesMost+50)
	for i := range cap(names) {
		names = append(names, old(i))
	}
	l, ec2, collector, left := newTemplated(t, names...)
	ec2.faults = 1
	_ = collector.sweepAfter(t, l, TemplatesEvery)
	if err := collector.sweepAfter(t, l, TemplatesEvery); err == nil || len(ec2.deleted) != templatesMost-1 || *left != 51 {
		t.Errorf("%d deleted, %d left, error %v", len(ec2.deleted), *left, err)
	}
	if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil || *left != 0 {
		t.Errorf("%d left, error %v", *left, err)
	}
}

// Karpenter's have the same prefix and tags, and a Karpenter that runs still needs them.
func TestTemplates_KarpentersStay(t *testing.T) {
	l, ec2, collector, left := newTemplated(t, "karpenter.k8s.aws/1234567890123456789", "karpenter.k8s.aws/12345678901234567890", "of-somebody-else")
	for range 3 {
		if err := collector.sweepAfter(t, l, TemplatesEvery); err != nil || len(ec2.deleted) > 0 || *left != 3 {
			t.Errorf("deleted %q, %d counted, error %v", ec2.deleted, *left, err)
		}
	}
}

// A role that may not delete them, or an EC2 that throttles, must not keep the daemon busy.
func TestTemplates_ASweepGivesUpWhereEC2RefusesEach(t *testing.T) {
	names := make([]string, 0, 1000)
	for i := range cap(names) {
		names = append(names, old(i))
	}
	l, ec2, collector, left := newTemplated(t, names...)
	ec2.faults = len(names)
	_ = collector.sweepAfter(t, l, TemplatesEvery)
	if err := collector.sweepAfter(t, l, TemplatesEvery); err == nil || ec2.tried != templatesFaults || *left != len(names) {
		t.Errorf("%d tried, %d left, error %v", ec2.tried, *left, err)
	}
}
