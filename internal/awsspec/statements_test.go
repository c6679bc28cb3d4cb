package awsspec

import (
	"strings"
	"testing"
)

func TestPolicyStatements_AreThoseOfADocumentOrOne(t *testing.T) {
	const first, second = `{"Action":"sqs:SendMessage","Effect":"Allow","Principal":"*"}`, `{"Action":"sqs:*","Effect":"Deny","Principal":"*","Sid":"No"}`
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"one":                 {` { "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage" } `, []string{first}},
		"document":            {`{"Version":"2012-10-17","Id":"x","Statement":[` + first + `,` + second + `]}`, []string{first, second}},
		"document with one":   {`{"Statement":` + second + `}`, []string{second}},
		"html is not escaped": {`{"Effect":"Allow","Principal":"*","Action":"a&b<c>"}`, []string{`{"Action":"a&b<c>","Effect":"Allow","Principal":"*"}`}},
	} {
		got, err := PolicyStatements(tt.text, true)
		if err != nil || strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestPolicyStatements_SayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`no`:                          "not a JSON object",
		`[]`:                          "not a JSON object",
		`{"Statement":[]}`:            "no statement",
		`{"Statement":"x"}`:           "neither a statement nor a list",
		`{"Statement":[],"Effect":1}`: `"Effect", which IAM does not know`,
		`{"Effect":"allow","Action":"a","Principal":"*"}`:                             `"Allow" or "Deny"`,
		`{"Effect":"Deny","Principal":"*"}`:                                           "either Action or NotAction",
		`{"Sid":"A","Effect":"Deny","Action":"a"}`:                                    `"A": must have either Principal`,
		`{"Effect":"Deny","Actions":"a","Principal":"*"}`:                             `"Actions", which IAM does not know`,
		`{"Effect":"Deny","Action":"a","Principal":"*","NotPrincipal":"*"}`:           "either Principal",
		`{"Statement":[{"Effect":"Deny","Action":"a","Principal":"*"},{}]}`:           `"Allow" or "Deny"`,
		`{"Effect":"Deny","Action":"a","Principal":"*","Resource":1,"NotResource":2}`: "either Resource",
	} {
		if _, err := PolicyStatements(text, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"Effect":"Allow","Action":"a","Resource":"*","Principal":"*"}`: "must not have a Principal",
		`{"Effect":"Allow","Action":"a"}`:                                "either Resource",
	} {
		if _, err := PolicyStatements(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestQueuePolicy_FurtherStatementsAreAboutTheQueue adds a statement without a resource.
func TestQueuePolicy_FurtherStatementsAreAboutTheQueue(t *testing.T) {
	const queue = "arn:aws:sqs:us-west-2:123456789012:lab"
	policy := QueuePolicy(queue, "aws", `{"Effect":"Deny","Principal":"*","Action":"sqs:*"}`, `{"Effect":"Deny","Principal":"*","Action":"sqs:*","NotResource":"x"}`)
	list, err := PolicyStatements(policy, true)
	if err != nil || len(list) != 4 {
		t.Fatalf("got %q, %v", list, err)
	}
	if !strings.Contains(list[2], `"Resource":"`+queue+`"`) || strings.Contains(list[3], `"Resource"`) {
		t.Errorf("got %q", list[2:])
	}
	if own := QueuePolicy(queue, "aws"); !strings.HasPrefix(policy, strings.TrimSuffix(own, "]}")) {
		t.Errorf("the provider's own statements changed: %s", policy)
	}
}

func TestStatementAbout_LeavesOutTheQueueAlone(t *testing.T) {
	const queue = "arn:aws:sqs:us-west-2:123456789012:lab"
	for statement, want := range map[string]string{
		`{"Sid":"A","Resource":"` + queue + `"}`:         `{"Sid":"A"}`,
		`{"Resource":["` + queue + `"],"Effect":"Deny"}`: `{"Effect":"Deny"}`,
		`{"Resource":["` + queue + `","x"]}`:             `{"Resource":["` + queue + `","x"]}`,
		`{"Resource":"*"}`:                               `{"Resource":"*"}`,
		`{"Sid":"A"}`:                                    `{"Sid":"A"}`,
		`no`:                                             `no`,
	} {
		if got := StatementAbout(queue, statement); got != want {
			t.Errorf("%s: got %s", statement, got)
		}
	}
}

func TestCheckQueueStatements_RefusesOurSid(t *testing.T) {
	if err := CheckQueueStatements(`{"Sid":"OnlyTLS","Effect":"Allow","Action":"a","Principal":"*"}`); err == nil || !strings.Contains(err.Error(), `"OnlyTLS"`) {
		t.Errorf("got %v", err)
	}
	if err := CheckQueueStatements(`{"Sid":"Mine","Effect":"Allow","Action":"a","Principal":"*"}`); err != nil {
		t.Error(err)
	}
}

func TestCheckQueueKey(t *testing.T) {
	for key, want := range map[string]string{
		"alias/mine": "", "alias/team/mine": "", "1234abcd-12ab-34cd-56ef-1234567890ab": "", "mrk-1234abcd12ab34cd56ef1234567890ab": "",
		"arn:aws-cn:kms:cn-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab": "", "arn:aws:kms:us-west-2:123456789012:alias/mine": "",
		"alias/aws/sqs": "EventBridge", "arn:aws:kms:us-west-2:123456789012:alias/aws/sqs": "EventBridge",
		"mine": "must be the id or ARN", "": "must be the id or ARN",
	} {
		if err := CheckQueueKey(key); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", key, err)
		}
	}
}
