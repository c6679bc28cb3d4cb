package awsspec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"unicode"
)

// MaxPolicySize is IAM's limit of a managed policy in characters, without white space.
const MaxPolicySize = 6144

// policyVersion is the version of the policy language.
const policyVersion = "2012-10-17"

// document is an IAM policy document.
type document struct {
	Version   string
	Statement []statement
}

type statement struct {
	Sid       string
	Effect    string
	Principal any `json:",omitempty"`
	Action    []string
	Resource  []string                       `json:",omitempty"`
	Condition map[string]map[string][]string `json:",omitempty"`
}

// allow makes a statement without conditions.
func allow(sid string, actions, resources []string) statement {
	return statement{Sid: sid, Effect: "Allow", Action: actions, Resource: resources}
}

// when adds a condition: compared by the operator, the key must have one of the values.
func (s statement) when(operator, key string, values ...string) statement {
	conditions := map[string]map[string][]string{operator: {}}
	for op, keys := range s.Condition {
		conditions[op] = maps.Clone(keys) // so that no two statements share a map
	}
	conditions[operator][key] = values
	s.Condition = conditions
	return s
}

func policyText(statements ...statement) string {
	return compactJSON(document{Version: policyVersion, Statement: statements})
}

// compactJSON encodes a value of strings, slices and maps.
func compactJSON(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) //nolint:forbidigo // only channels, functions and cycles cannot be encoded, and callers compose none
	}
	return string(bytes.TrimSpace(out.Bytes()))
}

// PolicySize is the size of a document as IAM counts it: characters without white space.
func PolicySize(document string) int {
	size := 0
	for _, r := range document {
		if !unicode.IsSpace(r) {
			size++
		}
	}
	return size
}

// CheckPolicySize returns an error if IAM would refuse the document for its size.
func CheckPolicySize(name, document string) error {
	if size := PolicySize(document); size > MaxPolicySize {
		return fmt.Errorf("policy %q: has %d characters, and IAM accepts %d: shorten the cluster's name, or name fewer roles or statements", name, size, MaxPolicySize)
	}
	return nil
}
