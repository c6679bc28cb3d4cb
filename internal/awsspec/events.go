package awsspec

import (
	"encoding/json"
	"fmt"
	"strings"
)

// QueueTargetID is the id of the queue as the target of each rule.
const QueueTargetID = "InterruptionQueue"

// QueueRetentionSeconds is how long the queue keeps a message. An older warning is of no use.
const QueueRetentionSeconds = 300

// Rule is an EventBridge rule on the default bus.
type Rule struct {
	Name, Description, Pattern string
}

// EventRules returns the rules that send events to the cluster's interruption queue, one
// for each kind of event that ends an instance. EventBridge cannot select events by the
// instance's tags, so each queue gets the events of the whole account and region. Source
// of the patterns: EC2 user guide and AWS Health user guide, "events in EventBridge".
func EventRules(cluster string) []Rule {
	rule := func(kind, description, source, detailType string) Rule {
		return Rule{
			Name:        shortened("Karpenter-", cluster, "-"+kind, maxRuleName),
			Description: description + ", for cluster " + cluster,
			Pattern:     compactJSON(map[string][]string{"source": {source}, "detail-type": {detailType}}),
		}
	}
	return []Rule{
		rule("SpotInterruption", "Spot instances that are taken back in two minutes", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
		rule("Rebalance", "Spot instances that are likely to be taken back", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
		rule("StateChange", "Instances that stop or terminate", "aws.ec2", "EC2 Instance State-change Notification"),
		rule("ScheduledChange", "Scheduled changes of instances", "aws.health", "AWS Health Event"),
		rule("CapacityReservation", "Instances whose capacity reservation ends", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
	}
}

// QueueARN is the ARN that SQS gives to the queue of that name.
func QueueARN(partition, region, account, name string) string {
	return fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition, region, account, name)
}

// QueuePolicy allows the event rules of the queue's account and region to send to the
// queue. It denies every call that does not use TLS. queueARN is
// arn:<partition>:sqs:<region>:<account>:<name>. further are more statements, in JSON: one
// that names no resource is about the queue.
func QueuePolicy(queueARN, partition string, further ...string) string {
	region, account := "*", "*"
	if parts := strings.Split(queueARN, ":"); len(parts) == 6 {
		region, account = parts[3], parts[4]
	}
	own := []statement{
		statement{
			Sid: "EventRules", Effect: "Allow", Action: []string{"sqs:SendMessage"}, Resource: []string{queueARN},
			Principal: map[string]string{"Service": "events.amazonaws.com"}, // the same in all partitions
		}.when("ArnLike", "aws:SourceArn", fmt.Sprintf("arn:%s:events:%s:%s:rule/*", partition, region, account)),
		statement{
			Sid: "OnlyTLS", Effect: "Deny", Action: []string{"sqs:*"}, Resource: []string{queueARN}, Principal: "*",
		}.when("Bool", "aws:SecureTransport", "false"),
	}
	var others []json.RawMessage
	for _, s := range further {
		others = append(others, about(queueARN, s))
	}
	return mixedPolicy(own, others)
}
