//go:build lab

package judge

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func queueARN(name string) string { return "arn:aws:sqs:us-west-2:123456789012:" + name }

func (w *world) createQueue(ctx context.Context, name string, attributes map[string]string) *string {
	return need(w.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})).QueueUrl
}

func (w *world) send(ctx context.Context, queue *string, body string) {
	need(w.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue, MessageBody: &body}))
}

func (w *world) receive(ctx context.Context, queue *string, wait, hide int32) []types.Message {
	return need(w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: queue, MaxNumberOfMessages: 10, WaitTimeSeconds: wait, VisibilityTimeout: hide, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})).Messages
}

func (w *world) attributes(ctx context.Context, queue *string) map[string]string {
	return need(w.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: queue, AttributeNames: []types.QueueAttributeName{"All"}})).Attributes
}

func bodies(messages []types.Message) []string {
	return sortedBy(messages, func(m types.Message) string { return *m.Body })
}

func queueContracts() []contract {
	return []contract{
		{
			name: "queue: made with attributes, again with the same ones",
			run: func(ctx context.Context, w *world) facts {
				asked := map[string]string{"MessageRetentionPeriod": "300", "SqsManagedSseEnabled": "true"}
				url := w.createQueue(ctx, "q-create", asked)
				a := w.attributes(ctx, url)
				_, err := w.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("q-create"), Attributes: map[string]string{"MessageRetentionPeriod": "600"}})
				return facts{
					"arn": a["QueueArn"], "retention": a["MessageRetentionPeriod"], "encrypted": a["SqsManagedSseEnabled"], "visibility": a["VisibilityTimeout"], "messages": a["ApproximateNumberOfMessages"], "dated": a["CreatedTimestamp"] != "",
					"same": *w.createQueue(ctx, "q-create", asked) == *url, "other": code(err), "found": *need(w.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("q-create")})).QueueUrl == *url,
				}
			},
			want: facts{
				"arn": queueARN("q-create"), "retention": "300", "encrypted": "true", "visibility": "30", "messages": "0", "dated": true, "same": true, "other": "QueueAlreadyExists", "found": true,
			},
		},
		{
			name: "queue: attributes are changed and selected",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-set", nil)
				policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queueARN("q-set") + `"}]}`
				need(w.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"MessageRetentionPeriod": "900", "Policy": policy}}))
				some := need(w.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"MessageRetentionPeriod", "QueueArn"}})).Attributes
				return facts{
					"some": some, "policy": strings.Contains(w.attributes(ctx, url)["Policy"], "events.amazonaws.com"),
				}
			},
			want: facts{"some": map[string]string{"MessageRetentionPeriod": "900", "QueueArn": queueARN("q-set")}, "policy": true},
		},
		{
			name: "queue: an attribute that does not exist is refused",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-attribute", nil)
				return facts{
					"set": errorOf(w.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"Colour": "blue"}})),
					"get": errorOf(w.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"Colour"}})),
				}
			},
			want:      facts{"set": "InvalidAttributeName", "get": "InvalidAttributeName"},
			notOnMoto: "it sets any attribute",
		},
		{
			name: "queue: one that is not there is named so",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-gone", nil)
				need(w.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: url}))
				return facts{
					"url":        errorOf(w.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("q-gone")})),
					"attributes": errorOf(w.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url})),
					"receive":    errorOf(w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url})),
					"send":       errorOf(w.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})),
				}
			},
			want: facts{
				"url": "AWS.SimpleQueueService.NonExistentQueue", "attributes": "AWS.SimpleQueueService.NonExistentQueue", "receive": "AWS.SimpleQueueService.NonExistentQueue",
				"send": "AWS.SimpleQueueService.NonExistentQueue",
			},
		},
		{
			name: "message: hidden once received, shown again when its time is over, gone when deleted",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-life", nil)
				w.send(ctx, url, "one")
				first := w.receive(ctx, url, 0, 2)
				hidden := w.receive(ctx, url, 0, 2)
				second := w.receive(ctx, url, 10, 30)
				counted := w.attributes(ctx, url)
				need(w.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: second[0].ReceiptHandle}))
				left := w.attributes(ctx, url)
				return facts{
					"first": bodies(first), "count": first[0].Attributes["ApproximateReceiveCount"], "sent": first[0].Attributes["SentTimestamp"] != "", "md5": *first[0].MD5OfBody, "hidden": len(hidden),
					"second": bodies(second), "counted": second[0].Attributes["ApproximateReceiveCount"], "in flight": counted["ApproximateNumberOfMessagesNotVisible"], "visible": counted["ApproximateNumberOfMessages"],
					"left": left["ApproximateNumberOfMessagesNotVisible"] + left["ApproximateNumberOfMessages"],
				}
			},
			want: facts{
				"first": []string{"one"}, "count": "1", "sent": true, "md5": "f97c5d29941bfb1b2fdab0874906ab82", "hidden": 0, "second": []string{"one"}, "counted": "2", "in flight": "1", "visible": "0", "left": "00",
			},
		},
		{
			name: "message: a long poll ends when one comes",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-poll", nil)
				type result struct {
					n   int
					err error
				}
				got := make(chan result, 1)
				start := time.Now()
				go func() {
					out, err := w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
					if err != nil {
						out = &sqs.ReceiveMessageOutput{}
					}
					got <- result{len(out.Messages), err}
				}()
				w.send(ctx, url, "one")
				r := <-got
				return facts{"messages": r.n, "error": code(r.err), "early": time.Since(start) < 15*time.Second}
			},
			want: facts{"messages": 1, "error": "none", "early": true},
		},
		{
			name: "message: an empty queue gives none, at once",
			run: func(ctx context.Context, w *world) facts {
				return facts{"messages": len(w.receive(ctx, w.createQueue(ctx, "q-empty", nil), 0, 30))}
			},
			want: facts{"messages": 0},
		},
		{
			name: "message: batches are deleted, entry by entry",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-batch", nil)
				w.send(ctx, url, "one")
				w.send(ctx, url, "two")
				messages := w.receive(ctx, url, 0, 30)
				out := need(w.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: []types.DeleteMessageBatchRequestEntry{
					{Id: aws.String("0"), ReceiptHandle: messages[0].ReceiptHandle}, {Id: aws.String("1"), ReceiptHandle: aws.String("nonsense")},
				}}))
				return facts{
					"received": bodies(messages), "deleted": sortedBy(out.Successful, func(e types.DeleteMessageBatchResultEntry) string { return *e.Id }),
					"failed": sortedBy(out.Failed, func(e types.BatchResultErrorEntry) string { return *e.Id + " " + *e.Code }),
				}
			},
			want: facts{"received": []string{"one", "two"}, "deleted": []string{"0"}, "failed": []string{"1 ReceiptHandleIsInvalid"}},
		},
		{
			name: "message: batches that are no batches are refused",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-badbatch", nil)
				remove := func(ids ...string) string {
					entries := []types.DeleteMessageBatchRequestEntry{}
					for _, id := range ids {
						entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: aws.String("x" + id)})
					}
					return errorOf(w.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: entries}))
				}
				return facts{"empty": remove(), "same": remove("a", "a")}
			},
			want: facts{"empty": "AWS.SimpleQueueService.EmptyBatchRequest", "same": "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"},
		},
		{
			name: "message: a batch has ten entries at most",
			run: func(ctx context.Context, w *world) facts {
				url := w.createQueue(ctx, "q-longbatch", nil)
				var eleven []types.DeleteMessageBatchRequestEntry
				for n := range 11 {
					eleven = append(eleven, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(n)), ReceiptHandle: aws.String("x" + strconv.Itoa(n))})
				}
				return facts{"eleven": errorOf(w.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: eleven}))}
			},
			want:      facts{"eleven": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"},
			notOnMoto: "it takes any number",
		},
		{
			name: "queue: tags and prefix",
			run: func(ctx context.Context, w *world) facts {
				url := need(w.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("q-tags"), Tags: map[string]string{"a": "1", "b": "2"}})).QueueUrl
				need(w.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"a": "9"}}))
				need(w.sqs.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"b"}}))
				listed := need(w.sqs.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: aws.String("q-tag")})).QueueUrls
				return facts{"tags": need(w.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url})).Tags, "listed": len(listed) == 1 && listed[0] == *url}
			},
			want: facts{"tags": map[string]string{"a": "9"}, "listed": true},
		},
	}
}

func (w *world) putRule(ctx context.Context, name, pattern string) (*eventbridge.PutRuleOutput, error) {
	return w.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &name, EventPattern: &pattern, Description: aws.String("of the suite")})
}

// target makes a queue that a rule may send to, and the rule's target.
func (w *world) target(ctx context.Context, rule, queue string) *string {
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queueARN(queue) + `"}]}`
	url := w.createQueue(ctx, queue, map[string]string{"Policy": policy})
	need(w.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &rule, Targets: []eventtypes.Target{{Id: aws.String("q"), Arn: aws.String(queueARN(queue))}}}))
	return url
}

func (w *world) emit(ctx context.Context, source, detailType, detail string) *eventbridge.PutEventsOutput {
	return need(w.events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{Source: &source, DetailType: &detailType, Detail: &detail}}}))
}

const spotPattern = `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`

func eventContracts() []contract {
	return []contract{
		{
			name: "rule: read as it was put, put again changed",
			run: func(ctx context.Context, w *world) facts {
				put := need(w.putRule(ctx, "rule-read", spotPattern))
				need(w.putRule(ctx, "rule-read", `{"source":["aws.health"]}`))
				r := need(w.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String("rule-read")}))
				listed := need(w.events.ListRules(ctx, &eventbridge.ListRulesInput{NamePrefix: aws.String("rule-rea")})).Rules
				return facts{"arn": *put.RuleArn, "pattern": *r.EventPattern, "state": r.State, "description": *r.Description, "listed": sortedBy(listed, func(r eventtypes.Rule) string { return *r.Name })}
			},
			want: facts{
				"arn": "arn:aws:events:us-west-2:123456789012:rule/rule-read", "pattern": `{"source":["aws.health"]}`, "state": eventtypes.RuleStateEnabled, "description": "of the suite", "listed": []string{"rule-read"},
			},
		},
		{
			name: "rule: patterns that are none are refused",
			run: func(ctx context.Context, w *world) facts {
				return facts{"no JSON": errorOf(w.putRule(ctx, "rule-bad", "nonsense")), "no list": errorOf(w.putRule(ctx, "rule-bad", `{"source":"aws.ec2"}`))}
			},
			want: facts{"no JSON": "InvalidEventPatternException", "no list": "InvalidEventPatternException"},
		},
		{
			name: "rule: one that is not there is named so, and deleted all the same",
			run: func(ctx context.Context, w *world) facts {
				none := aws.String("rule-none")
				return facts{
					"describe": errorOf(w.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: none})), "delete": errorOf(w.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: none})),
					"targets": errorOf(w.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: none, Targets: []eventtypes.Target{{Id: aws.String("q"), Arn: aws.String(queueARN("none"))}}})),
					"list":    errorOf(w.events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: none})),
					"remove":  errorOf(w.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: none, Ids: []string{"q"}})),
				}
			},
			want: facts{"describe": "ResourceNotFoundException", "delete": "none", "targets": "ResourceNotFoundException", "list": "ResourceNotFoundException", "remove": "ResourceNotFoundException"},
		},
		{
			name: "rule: with targets it stays",
			run: func(ctx context.Context, w *world) facts {
				name := aws.String("rule-held")
				need(w.putRule(ctx, *name, spotPattern))
				w.target(ctx, *name, "q-rule-held")
				targets := need(w.events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: name})).Targets
				held := errorOf(w.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name}))
				removed := need(w.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: name, Ids: []string{"q"}}))
				need(w.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name}))
				return facts{
					"targets": sortedBy(targets, func(t eventtypes.Target) string { return *t.Id + " " + *t.Arn }), "held": held, "failed": removed.FailedEntryCount,
					"gone": errorOf(w.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: name})),
				}
			},
			want: facts{"targets": []string{"q " + queueARN("q-rule-held")}, "held": "ValidationException", "failed": int32(0), "gone": "ResourceNotFoundException"},
		},
		{
			name: "rule: tags are set and removed",
			run: func(ctx context.Context, w *world) facts {
				arn := need(w.events.PutRule(ctx, &eventbridge.PutRuleInput{
					Name: aws.String("rule-tags"), EventPattern: aws.String(spotPattern), Tags: []eventtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}},
				})).RuleArn
				need(w.events.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: arn, Tags: []eventtypes.Tag{{Key: aws.String("a"), Value: aws.String("9")}}}))
				need(w.events.UntagResource(ctx, &eventbridge.UntagResourceInput{ResourceARN: arn, TagKeys: []string{"b"}}))
				tags := need(w.events.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: arn})).Tags
				return facts{"tags": sortedBy(tags, func(t eventtypes.Tag) string { return *t.Key + "=" + *t.Value })}
			},
			want: facts{"tags": []string{"a=9"}},
		},
		{
			name: "event: what matches goes to the queue in the bus's envelope",
			run: func(ctx context.Context, w *world) facts {
				need(w.putRule(ctx, "rule-event", `{"source":["lab.one"],"detail":{"state":["up"]}}`))
				url := w.target(ctx, "rule-event", "q-rule-event")
				w.emit(ctx, "lab.two", "Change", `{"state":"up"}`)
				w.emit(ctx, "lab.one", "Change", `{"state":"down"}`)
				put := w.emit(ctx, "lab.one", "Change", `{"state":"up","n":3}`)
				messages := w.receive(ctx, url, 1, 30)
				var e map[string]any
				need(0, json.Unmarshal([]byte(*messages[0].Body), &e))
				_, dated := time.Parse(time.RFC3339, e["time"].(string))
				return facts{
					"messages": len(messages), "source": e["source"], "type": e["detail-type"], "region": e["region"], "version": e["version"], "detail": e["detail"],
					"resources": e["resources"], "dated": dated == nil, "id": e["id"] == *put.Entries[0].EventId, "failed": put.FailedEntryCount,
				}
			},
			want: facts{
				"messages": 1, "source": "lab.one", "type": "Change", "region": region, "version": "0", "detail": map[string]any{"state": "up", "n": 3.0}, "resources": []any{}, "dated": true, "id": true, "failed": int32(0),
			},
		},
	}
}
