package nodeclass

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// counting is a Cloud that counts its calls by service.
type counting struct {
	Cloud
	mu    sync.Mutex
	calls map[string]int
}

func (c *counting) count(service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[service]++
}

// since returns the calls since it was asked last.
func (c *counting) since() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.calls
	c.calls = map[string]int{}
	return out
}

func (c *counting) Subnets(ctx context.Context, s []aws.Selector) ([]aws.Subnet, error) {
	c.count("EC2")
	return c.Cloud.Subnets(ctx, s)
}

func (c *counting) SecurityGroups(ctx context.Context, s []aws.Selector) ([]aws.SecurityGroup, error) {
	c.count("EC2")
	return c.Cloud.SecurityGroups(ctx, s)
}

func (c *counting) Images(ctx context.Context, s []aws.ImageSelector) ([]aws.Image, error) {
	c.count("EC2")
	return c.Cloud.Images(ctx, s)
}

func (c *counting) LaunchTemplates(ctx context.Context, tags map[string]string) ([]string, error) {
	c.count("EC2")
	return c.Cloud.LaunchTemplates(ctx, tags)
}

func (c *counting) MayLaunch(ctx context.Context, t aws.Trial) error {
	c.count("EC2")
	return c.Cloud.MayLaunch(ctx, t)
}

func (c *counting) Parameter(ctx context.Context, name string) (string, error) {
	c.count("SSM")
	if value, err := c.Cloud.Parameter(ctx, name); err == nil {
		return value, nil
	}
	return "ami-1", nil
}

func (c *counting) GetInstanceProfile(ctx context.Context, name string) (aws.InstanceProfile, error) {
	c.count("IAM")
	return c.Cloud.GetInstanceProfile(ctx, name)
}

// resting is a class with a role that is ready, and a reconciler that works.
func resting(t *testing.T) (*world, *Reconciler, *counting) {
	t.Helper()
	w, r := newWorld()
	w.class.Spec.InstanceProfile, w.class.Spec.Role = "", "nodes"
	p := r.facts().profileOf(w.class)
	w.o.profile = aws.InstanceProfile{Name: p.Name(), Path: p.Path(), Role: p.Role, Tags: p.Tags(nil)}
	c := &counting{Cloud: r.Cloud, calls: map[string]int{}}
	r.Cloud, r.Now = Share(c, time.Now), time.Now
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r.Enqueue("default")
	go r.Run(ctx)
	synctest.Wait()
	return w, r, c
}

// A ready class that nobody changes asks EC2 three times a minute, SSM for its five parameters
// every half hour, and IAM every five minutes.
func TestReconcile_AnHourAtRestTakesFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, c := resting(t)
		c.since()
		time.Sleep(time.Hour)
		if !w.class.Conditions().IsReady() {
			t.Fatalf("%+v", w.class.Status.Conditions)
		}
		got := c.since()
		t.Logf("calls in an hour: %v", got)
		for service, most := range map[string]int{"EC2": 60*3 + 2*2, "SSM": 2 * 5, "IAM": 12} {
			if got[service] == 0 || got[service] > most {
				t.Errorf("%s: %d calls, want %d at most", service, got[service], most)
			}
		}
	})
}

// What somebody writes on a class is carried out at once: it is resolved anew, whatever is kept.
func TestReconcile_AClassThatIsEditedIsResolvedAnewAtOnce(t *testing.T) {
	for name, edit := range map[string]func(*awsv1.EC2NodeClass){
		"its spec":       func(c *awsv1.EC2NodeClass) { c.Generation++ },
		"its annotation": func(c *awsv1.EC2NodeClass) { c.Annotations = map[string]string{"example.com/look": "now"} },
	} {
		synctest.Test(t, func(t *testing.T) {
			w, r, c := resting(t)
			time.Sleep(time.Minute + time.Second)
			c.since()
			w.mu.Lock()
			w.class = w.class.DeepCopy()
			edit(w.class)
			w.mu.Unlock()
			r.Enqueue("default")
			synctest.Wait()
			if got := c.since(); got["SSM"] != 5 || got["IAM"] != 1 {
				t.Errorf("%s changes: calls %v", name, got)
			}
		})
	}
}

// A parameter whose image is gone has another one by now.
func TestImages_AParameterIsAskedForAnewOnceItsImageIsGone(t *testing.T) {
	s, r, c := newShelf(awsv1.AMISelectorTerm{SSMParameter: "/team/image"})
	s.images = []aws.Image{{ID: "ami-5", Arch: "amd64"}}
	r.answers.resolved(c)
	look := func() observation { return r.observe(t.Context(), c) }
	if o := look(); len(o.images) != 1 {
		t.Fatalf("%+v", o.images)
	}
	s.parameters["/team/image"] = "ami-6"
	s.images = nil
	look()
	s.images = []aws.Image{{ID: "ami-6", Arch: "amd64"}}
	if o := look(); len(o.images) != 1 || o.images[0].ID != "ami-6" || s.asked[0].ID != "ami-6" {
		t.Errorf("%+v, asked for %v", o.images, s.asked)
	}
}

// Somebody writes a parameter of their own to have new nodes get another image.
func TestImages_AParameterOfTheUserCountsForFiveMinutes(t *testing.T) {
	s, r, c := newShelf(awsv1.AMISelectorTerm{SSMParameter: "/team/image"})
	s.images = []aws.Image{{ID: "ami-5", Arch: "amd64"}, {ID: "ami-6", Arch: "amd64"}}
	r.answers.resolved(c)
	r.observe(t.Context(), c)
	s.parameters["/team/image"] = "ami-6"
	for _, x := range []struct {
		after time.Duration
		want  string
	}{{parameterLasts - 1, "ami-5"}, {parameterLasts, "ami-6"}} {
		r.Now = func() time.Time { return at(10).Add(x.after) }
		if r.observe(t.Context(), c); s.asked[0].ID != x.want {
			t.Errorf("after %s: asked for %s, want %s", x.after, s.asked[0].ID, x.want)
		}
	}
}

// Terraform may delete the node role and make it again, which empties the profile.
func TestProfile_IsLookedAtAgainAfterFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, c := resting(t)
		for range 3 {
			c.since()
			time.Sleep(5*time.Minute + refreshReady)
			if got := c.since(); got["IAM"] == 0 {
				t.Errorf("calls %v: nobody has looked", got)
			}
		}
	})
}

// A launch shows that the profile is empty before the next look at it.
func TestProfile_IsLookedAtAtOnceWhenALaunchFailsBecauseOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, c := resting(t)
		time.Sleep(refreshReady / 2)
		c.since()
		r.ProfileFailed("default")
		synctest.Wait()
		if got := c.since(); got["IAM"] != 1 {
			t.Errorf("calls %v", got)
		}
	})
}

// IAM is asked anew once EC2 says that it cannot launch with the profile.
func TestProfile_WhatIsKeptEndsWithEC2sWordThatItCannotLaunchWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, c := resting(t)
		c.since()
		w.o.launchErr = aws.ErrProfileEmpty
		r.permissions.Clear()
		r.Enqueue("default")
		synctest.Wait()
		time.Sleep(refreshNotReady + time.Second)
		if got := c.since(); got["IAM"] == 0 {
			t.Errorf("calls %v", got)
		}
	})
}
