package awsspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// statementRemedy says what a statement must be. Source: IAM user guide, "Grammar of the IAM
// JSON policy language".
const statementRemedy = "write a policy document, such as data.aws_iam_policy_document.NAME.json, or one statement with jsonencode"

// PolicyStatements returns the statements of a JSON text, each as JSON: those of a policy
// document, or the text itself if it is one statement. A statement of a resource's policy
// names principals, that of a role's policy none.
func PolicyStatements(text string, ofResource bool) ([]string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("policy statement: is not a JSON object: %s", statementRemedy)
	}
	inner, isDocument := object["Statement"]
	if !isDocument {
		return one(object, ofResource)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains([]string{"Version", "Id", "Statement"}, key) {
			return nil, fmt.Errorf("policy document: has an element %q, which IAM does not know: remove it", key)
		}
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(inner, &list); err != nil {
		var single map[string]json.RawMessage
		if err := json.Unmarshal(inner, &single); err != nil {
			return nil, fmt.Errorf("policy document: Statement is neither a statement nor a list of statements: %s", statementRemedy)
		}
		list = append(list, single)
	}
	if len(list) == 0 {
		return nil, errors.New("policy document: has no statement: add one, or leave the document out")
	}
	var out []string
	for _, s := range list {
		texts, err := one(s, ofResource)
		if err != nil {
			return nil, err
		}
		out = append(out, texts...)
	}
	return out, nil
}

// one checks a statement, and returns it as JSON.
func one(s map[string]json.RawMessage, ofResource bool) ([]string, error) {
	var sid, effect string
	_ = json.Unmarshal(s["Sid"], &sid)
	_ = json.Unmarshal(s["Effect"], &effect)
	name := "policy statement"
	if sid != "" {
		name = fmt.Sprintf("policy statement %q", sid)
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains([]string{"Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"}, key) {
			return nil, fmt.Errorf("%s: has an element %q, which IAM does not know: %s", name, key, statementRemedy)
		}
	}
	has := func(keys ...string) int {
		count := 0
		for _, key := range keys {
			if _, there := s[key]; there {
				count++
			}
		}
		return count
	}
	switch {
	case effect != "Allow" && effect != "Deny":
		return nil, fmt.Errorf(`%s: Effect must be "Allow" or "Deny"`, name)
	case has("Action", "NotAction") != 1:
		return nil, fmt.Errorf("%s: must have either Action or NotAction", name)
	case has("Resource", "NotResource") > 1:
		return nil, fmt.Errorf("%s: must have either Resource or NotResource", name)
	case ofResource && has("Principal", "NotPrincipal") != 1:
		return nil, fmt.Errorf("%s: must have either Principal or NotPrincipal, as the policy of a resource says who", name)
	case !ofResource && has("Principal", "NotPrincipal") > 0:
		return nil, fmt.Errorf("%s: must not have a Principal, as the policy is attached to a role: remove it", name)
	case !ofResource && has("Resource", "NotResource") == 0:
		return nil, fmt.Errorf("%s: must have either Resource or NotResource", name)
	}
	return []string{compactJSON(s)}, nil
}

// StatementID is the Sid of a statement in JSON; "" if it has none.
func StatementID(statement string) string {
	var s struct{ Sid string }
	if json.Unmarshal([]byte(statement), &s) != nil {
		return ""
	}
	return s.Sid
}

// about gives a statement the resource, if the statement names none.
func about(resource, statement string) json.RawMessage {
	var s map[string]json.RawMessage
	if json.Unmarshal([]byte(statement), &s) != nil || s["Resource"] != nil || s["NotResource"] != nil {
		return json.RawMessage(statement)
	}
	s["Resource"] = json.RawMessage(compactJSON(resource))
	return json.RawMessage(compactJSON(s))
}

// StatementAbout is the reverse: a statement about the resource alone does not name it.
func StatementAbout(resource, statement string) string {
	var s map[string]json.RawMessage
	var one string
	var many []string
	if json.Unmarshal([]byte(statement), &s) != nil {
		return statement
	}
	if json.Unmarshal(s["Resource"], &one) == nil && one == resource || json.Unmarshal(s["Resource"], &many) == nil && len(many) == 1 && many[0] == resource {
		delete(s, "Resource")
	}
	return compactJSON(s)
}

// mixedPolicy is a policy of our statements and others, which are JSON.
func mixedPolicy(own []statement, others []json.RawMessage) string {
	all := make([]any, 0, len(own)+len(others))
	for _, s := range own {
		all = append(all, s)
	}
	for _, s := range others {
		all = append(all, s)
	}
	return compactJSON(struct {
		Version   string
		Statement []any
	}{policyVersion, all})
}

// SingleStatement is a policy of one statement, which is JSON: so it is compared.
func SingleStatement(statement string) string {
	return mixedPolicy(nil, []json.RawMessage{json.RawMessage(statement)})
}

// CheckQueueStatements returns an error for a text whose statements cannot be added to the
// policy of an interruption queue.
func CheckQueueStatements(text string) error {
	list, err := PolicyStatements(text, true)
	if err != nil {
		return err
	}
	own, err := PolicyStatements(QueuePolicy("arn:aws:sqs:us-east-1:123456789012:any", "aws"), true)
	if err != nil {
		return err
	}
	for _, s := range list {
		id := StatementID(s)
		if id != "" && slices.ContainsFunc(own, func(o string) bool { return StatementID(o) == id }) {
			return fmt.Errorf("policy statement %q: the provider's own statement has this Sid: give the statement another one, or remove it if it is to replace the provider's", id)
		}
	}
	return nil
}

// CheckQueueKey returns an error for what names no KMS key that the interruption queue can
// be encrypted with.
func CheckQueueKey(key string) error {
	switch {
	case strings.HasSuffix(key, "alias/aws/sqs"):
		return fmt.Errorf("KMS key %q: is the key of AWS for SQS, whose key policy does not let EventBridge send, and cannot be changed: write a key of your own, or leave it out for the keys of SQS itself", key)
	case !regexp.MustCompile(`^(alias/[\w/-]+|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[\w/-]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})$`).MatchString(key):
		return fmt.Errorf("KMS key %q: must be the id or ARN of a key, or the name or ARN of an alias, such as alias/interruptions", key)
	}
	return nil
}
