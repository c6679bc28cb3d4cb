package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
)

func doc(t testing.TB, kind policy.Kind, statements ...string) *policy.Document {
	t.Helper()
	d, err := policy.Parse(`{"Version":"2012-10-17","Statement":[`+strings.Join(statements, ",")+`]}`, kind)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const instance = "arn:aws:ec2:us-west-2:123456789012:instance/i-1"

func TestEvaluate_IdentityStatements(t *testing.T) {
	keys := func(pairs ...string) map[string][]string {
		out := map[string][]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
		}
		return out
	}
	allow := func(rest string) string { return `{"Effect":"Allow",` + rest + `}` }
	when := func(condition string) string {
		return allow(`"Action":"*","Resource":"*","Condition":{` + condition + `}`)
	}
	for name, tt := range map[string]struct {
		statement string
		action    string
		resource  string
		keys      map[string][]string
		want      policy.Decision
	}{
		"action with wildcard, case ignored":        {allow(`"Action":"ec2:describe*","Resource":"*"`), "ec2:DescribeInstances", "*", nil, policy.Allow},
		"another action":                            {allow(`"Action":["ec2:RunInstances"],"Resource":"*"`), "ec2:CreateFleet", "*", nil, policy.None},
		"NotAction leaves out":                      {allow(`"NotAction":"iam:*","Resource":"*"`), "iam:GetRole", "*", nil, policy.None},
		"NotAction lets in":                         {allow(`"NotAction":"iam:*","Resource":"*"`), "ec2:RunInstances", "*", nil, policy.Allow},
		"resource by wildcard in a part":            {allow(`"Action":"*","Resource":"arn:aws:ec2:us-west-2:*:instance/*"`), "ec2:A", instance, nil, policy.Allow},
		"a wildcard does not reach over colons":     {allow(`"Action":"*","Resource":"arn:aws:ec2:*:instance/*"`), "ec2:A", instance, nil, policy.None},
		"an action without resource needs the star": {allow(`"Action":"*","Resource":"arn:aws:ec2:us-west-2:*:instance/*"`), "ec2:A", "*", nil, policy.None},
		"NotResource":                               {allow(`"Action":"*","NotResource":"arn:aws:ec2:*:*:instance/*"`), "ec2:A", instance, nil, policy.None},
		"variable in the resource":                  {allow(`"Action":"*","Resource":"arn:aws:iam::123456789012:user/${aws:username}"`), "iam:A", "arn:aws:iam::123456789012:user/ann", keys("aws:username", "ann"), policy.Allow},
		"variable without value":                    {allow(`"Action":"*","Resource":"arn:aws:iam::123456789012:user/${aws:username}"`), "iam:A", "arn:aws:iam::123456789012:user/", nil, policy.None},
		"StringEquals":                              {when(`"StringEquals":{"aws:RequestTag/A":["x","y"]}`), "ec2:A", "*", keys("aws:requesttag/a", "y"), policy.Allow},
		"StringEquals of an absent key":             {when(`"StringEquals":{"aws:RequestTag/A":"x"}`), "ec2:A", "*", nil, policy.None},
		"StringEqualsIfExists of an absent key":     {when(`"StringEqualsIfExists":{"aws:RequestTag/A":"x"}`), "ec2:A", "*", nil, policy.Allow},
		"StringEqualsIfExists of another value":     {when(`"StringEqualsIfExists":{"aws:RequestTag/A":"x"}`), "ec2:A", "*", keys("aws:requesttag/a", "y"), policy.None},
		"StringNotEquals of an absent key":          {when(`"StringNotEquals":{"aws:RequestTag/A":"x"}`), "ec2:A", "*", nil, policy.Allow},
		"StringNotEquals of a listed value":         {when(`"StringNotEquals":{"aws:RequestTag/A":["x","y"]}`), "ec2:A", "*", keys("aws:requesttag/a", "y"), policy.None},
		"StringLike star needs the key":             {when(`"StringLike":{"aws:ResourceTag/karpenter.sh/nodepool":"*"}`), "ec2:A", "*", nil, policy.None},
		"StringLike star":                           {when(`"StringLike":{"aws:ResourceTag/karpenter.sh/nodepool":"*"}`), "ec2:A", "*", keys("aws:resourcetag/karpenter.sh/nodepool", "p"), policy.Allow},
		"two keys are both needed":                  {when(`"StringEquals":{"a:k":"1","a:l":"2"}`), "ec2:A", "*", keys("a:k", "1"), policy.None},
		"ForAllValues within":                       {when(`"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}`), "ec2:A", "*", keys("aws:tagkeys", "a", "aws:tagkeys", "b"), policy.Allow},
		"ForAllValues beyond":                       {when(`"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}`), "ec2:A", "*", keys("aws:tagkeys", "a", "aws:tagkeys", "c"), policy.None},
		"ForAllValues of nothing":                   {when(`"ForAllValues:StringEquals":{"aws:TagKeys":["a"]}`), "ec2:A", "*", nil, policy.Allow},
		"ForAnyValue":                               {when(`"ForAnyValue:StringEquals":{"aws:TagKeys":["a"]}`), "ec2:A", "*", keys("aws:tagkeys", "z", "aws:tagkeys", "a"), policy.Allow},
		"ForAnyValue of nothing":                    {when(`"ForAnyValue:StringEquals":{"aws:TagKeys":["a"]}`), "ec2:A", "*", nil, policy.None},
		"Bool":                                      {when(`"Bool":{"aws:SecureTransport":false}`), "ec2:A", "*", keys("aws:securetransport", "true"), policy.None},
		"ArnLike by parts":                          {when(`"ArnLike":{"aws:SourceArn":"arn:aws:events:*:*:rule/*"}`), "ec2:A", "*", keys("aws:sourcearn", "arn:aws:events:r:1:rule/x"), policy.Allow},
		"Null true: the key is absent":              {when(`"Null":{"aws:RequestTag/A":"true"}`), "ec2:A", "*", nil, policy.Allow},
		"Null true: the key is there":               {when(`"Null":{"aws:RequestTag/A":"true"}`), "ec2:A", "*", keys("aws:requesttag/a", "x"), policy.None},
		"NumericLessThan":                           {when(`"NumericLessThan":{"a:k":"10"}`), "ec2:A", "*", keys("a:k", "9"), policy.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			got := policy.Evaluate(policy.Request{Action: tt.action, Resource: tt.resource, Keys: tt.keys}, doc(t, policy.Identity, tt.statement))
			if got != tt.want {
				t.Errorf("decision is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEvaluate_Principals(t *testing.T) {
	role := policy.Caller{Account: "123456789012", ARNs: []string{"arn:aws:iam::123456789012:role/R", "arn:aws:sts::123456789012:assumed-role/R/s"}}
	for name, tt := range map[string]struct {
		principal string
		caller    policy.Caller
		want      policy.Decision
	}{
		"service":          {`{"Service":["sqs.amazonaws.com","events.amazonaws.com"]}`, policy.Caller{Service: "events.amazonaws.com"}, policy.Allow},
		"other service":    {`{"Service":"ec2.amazonaws.com"}`, policy.Caller{Service: "events.amazonaws.com"}, policy.None},
		"anyone":           {`"*"`, role, policy.Allow},
		"the role":         {`{"AWS":"arn:aws:iam::123456789012:role/R"}`, role, policy.Allow},
		"another role":     {`{"AWS":"arn:aws:iam::123456789012:role/Q"}`, role, policy.None},
		"its account":      {`{"AWS":"arn:aws:iam::123456789012:root"}`, role, policy.Delegated},
		"another account":  {`{"AWS":"210987654321"}`, role, policy.None},
		"federated":        {`{"Federated":"arn:p"}`, policy.Caller{Federated: "arn:p"}, policy.Allow},
		"federated, other": {`{"Federated":"arn:p"}`, policy.Caller{Federated: "arn:q"}, policy.None},
	} {
		t.Run(name, func(t *testing.T) {
			d := doc(t, policy.Trust, `{"Effect":"Allow","Principal":`+tt.principal+`,"Action":"sts:AssumeRole"}`)
			if got := policy.Evaluate(policy.Request{Action: "sts:AssumeRole", Resource: "arn:r", Caller: tt.caller}, d); got != tt.want {
				t.Errorf("decision is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParse_RefusesWhatIsNotCarriedOut(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		kind policy.Kind
		says string
	}{
		"no JSON":                  {`{`, policy.Identity, "unexpected EOF"},
		"no statement":             {`{"Version":"2012-10-17"}`, policy.Identity, "no Statement"},
		"old version":              {`{"Version":"2013-01-01","Statement":[]}`, policy.Identity, "2013-01-01"},
		"unknown element":          {`{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*","Resorce":"*"}]}`, policy.Identity, "Resorce"},
		"bad effect":               {`{"Statement":[{"Effect":"allow","Action":"a:b","Resource":"*"}]}`, policy.Identity, `Effect "allow"`},
		"no resource":              {`{"Statement":[{"Effect":"Allow","Action":"a:b"}]}`, policy.Identity, "Resource"},
		"resource in trust":        {`{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*","Principal":"*"}]}`, policy.Trust, "no Resource"},
		"principal in identity":    {`{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*","Principal":"*"}]}`, policy.Identity, "Principal"},
		"no principal in trust":    {`{"Statement":[{"Effect":"Allow","Action":"a:b"}]}`, policy.Trust, "Principal"},
		"action without a service": {`{"Statement":[{"Effect":"Allow","Action":"RunInstances","Resource":"*"}]}`, policy.Identity, "RunInstances"},
		"resource that is no ARN":  {`{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"i-1"}]}`, policy.Identity, "i-1"},
		"unknown operator":         {`{"Statement":[{"Effect":"Allow","Action":"a:b","Resource":"*","Condition":{"StringIs":{"a":"b"}}}]}`, policy.Identity, "StringIs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse(tt.text, tt.kind)
			if !errors.Is(err, policy.ErrMalformed) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error is %v, want one that says %q", err, tt.says)
			}
		})
	}
}

// A deny that matches wins over any number of allows, wherever it stands.
func TestEvaluate_DenyAlwaysWins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		action := rapid.SampledFrom([]string{"ec2:RunInstances", "sqs:SendMessage", "iam:PassRole"}).Draw(rt, "action")
		pattern := rapid.SampledFrom([]string{"*", action, action[:4] + "*", "*:" + strings.SplitN(action, ":", 2)[1]}).Draw(rt, "pattern")
		statements := make([]string, rapid.IntRange(0, 6).Draw(rt, "allows"))
		for i := range statements {
			p := rapid.SampledFrom([]string{"*", action, "s3:*"}).Draw(rt, "allow")
			statements[i] = fmt.Sprintf(`{"Effect":"Allow","Action":%q,"Resource":"*"}`, p)
		}
		at := rapid.IntRange(0, len(statements)).Draw(rt, "place")
		deny := fmt.Sprintf(`{"Effect":"Deny","Action":%q,"Resource":"*"}`, pattern)
		statements = append(statements[:at:at], append([]string{deny}, statements[at:]...)...)
		cut := rapid.IntRange(1, len(statements)).Draw(rt, "documents")
		docs := []*policy.Document{doc(t, policy.Identity, statements[:cut]...)}
		if cut < len(statements) {
			docs = append(docs, doc(t, policy.Identity, statements[cut:]...))
		}
		if got := policy.Evaluate(policy.Request{Action: action, Resource: instance}, docs...); got != policy.Deny {
			rt.Fatalf("decision is %s", got)
		}
	})
}
