package provider_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestInterruptionQueue_LifeWithDriftAndImport(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	config := object{"cluster_name": testCluster}
	queue := h.resource("karpenter_interruption_queue")
	wantNoError(t, queue.apply(config))
	queue.settled(config)
	found, err := cloud.clients.GetQueue(t.Context(), testCluster)
	if err != nil || found.MessageRetention != 5*time.Minute || found.ARN != queue.text("arn") || found.Tags["team"] != "platform" {
		t.Fatalf("made %+v, %v", found, err)
	}
	rules := awsspec.EventRules(testCluster)
	rule := func(i int) aws.Rule {
		t.Helper()
		r, err := cloud.clients.GetRule(t.Context(), rules[i].Name, awsspec.QueueTargetID)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range rules {
		if r := rule(i); !r.Enabled || r.TargetARN != found.ARN || !aws.SameJSON(r.Pattern, rules[i].Pattern) {
			t.Errorf("rule %+v", r)
		}
	}

	for name, drift := range map[string]struct {
		attribute string
		meddle    func() error
	}{
		"rule removed": {"rules", func() error { return cloud.clients.DeleteRule(t.Context(), rules[0].Name, aws.AnyID) }},
		"rule sends elsewhere": {"rules", func() error {
			meddled := rule(1)
			meddled.TargetARN = found.ARN + "-other"
			_, err := cloud.clients.UpdateRule(t.Context(), rule(1), meddled)
			return err
		}},
		"pattern changed": {"rules", func() error {
			meddled := rule(2)
			meddled.Pattern = `{"source":["aws.ec2"]}`
			_, err := cloud.clients.UpdateRule(t.Context(), rule(2), meddled)
			return err
		}},
		"policy removed": {"policy", func() error {
			meddled := found
			meddled.Policy = ""
			_, err := cloud.clients.UpdateQueue(t.Context(), found, meddled)
			return err
		}},
		"rule described otherwise": {"rules", func() error {
			meddled := rule(3)
			meddled.Description = "somebody's own words"
			_, err := cloud.clients.UpdateRule(t.Context(), rule(3), meddled)
			return err
		}},
		"encryption switched off": {"encrypted", func() error {
			for key, thing := range cloud.Inventory() {
				if off := strings.Replace(thing.Content, `"SqsManagedSseEnabled":"true"`, `"SqsManagedSseEnabled":"false"`, 1); off != thing.Content {
					return cloud.Overwrite(key, off)
				}
			}
			return errors.New("no queue is encrypted")
		}},
		"retention changed": {"message_retention_seconds", func() error {
			meddled := found
			meddled.MessageRetention = time.Hour
			_, err := cloud.clients.UpdateQueue(t.Context(), found, meddled)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := drift.meddle(); err != nil {
				t.Fatal(err)
			}
			queue.drifted(config, drift.attribute)
			wantNoError(t, queue.apply(config))
			queue.settled(config)
		})
	}
	t.Run("import", func(t *testing.T) {
		copied, diags := h.imported("karpenter_interruption_queue", testCluster+","+testCluster)
		wantNoError(t, diags)
		want := queue.plan(object{"cluster_name": testCluster})
		got := copied.plan(object{"cluster_name": testCluster})
		if !got.value.Equal(want.value) {
			t.Errorf("imported %s, want %s", got.value, want.value)
		}
	})
	t.Run("update", func(t *testing.T) {
		config = object{"cluster_name": testCluster, "tags": object{"env": "test"}}
		wantNoError(t, queue.apply(config))
		queue.settled(config)
		if r := rule(0); r.Tags["env"] != "test" {
			t.Errorf("the rule has tags %v", r.Tags)
		}
	})
	t.Run("gone", func(t *testing.T) {
		wantNoError(t, queue.destroy())
		if _, err := cloud.clients.GetQueue(t.Context(), testCluster); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("the queue is still there: %v", err)
		}
		for _, r := range rules {
			if _, err := cloud.clients.GetRule(t.Context(), r.Name, awsspec.QueueTargetID); !errors.Is(err, aws.ErrNotFound) {
				t.Errorf("rule %s is still there: %v", r.Name, err)
			}
		}
	})
}

func TestInterruptionQueue_LeavesARuleOfSomebodyElseAlone(t *testing.T) {
	for _, targetID := range []string{awsspec.QueueTargetID, "theirs"} {
		t.Run(targetID, func(t *testing.T) { leavesARuleAlone(t, targetID) })
	}
}

func leavesARuleAlone(t *testing.T, targetID string) {
	t.Helper()
	cloud := startCloud(t)
	name := awsspec.EventRules(testCluster)[0].Name
	theirs := aws.Rule{Name: name, Pattern: `{"source":["aws.ec2"]}`, TargetID: targetID, TargetARN: "arn:aws:sqs:us-west-2:123456789012:theirs"}
	if _, err := cloud.clients.CreateRule(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	h := configured(t, cloud.config())
	queue := h.resource("karpenter_interruption_queue")
	wantError(t, queue.apply(object{"cluster_name": testCluster}), name, "already exists")
	wantNothingMade(t, queue)
	if got, err := cloud.clients.GetRule(t.Context(), name, targetID); err != nil || got.TargetARN != theirs.TargetARN {
		t.Errorf("their rule is now %+v, %v", got, err)
	}
	if _, err := cloud.clients.GetQueue(t.Context(), testCluster); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the queue is still there: %v", err)
	}
}
