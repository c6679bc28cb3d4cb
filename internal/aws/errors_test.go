package aws

import (
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
)

func apiError(service, operation, code, message string) error {
	return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

func TestWrap_GivesCodesTheirSentinel(t *testing.T) {
	tests := map[string]error{
		"NoSuchEntity":                                     ErrNotFound,
		"ResourceNotFoundException":                        ErrNotFound,
		"AWS.SimpleQueueService.NonExistentQueue":          ErrNotFound,
		"InvalidInstanceID.NotFound":                       ErrNotFound,
		"InvalidLaunchTemplateId.NotFound":                 ErrLaunchTemplateNotFound,
		"InvalidLaunchTemplateName.NotFoundException":      ErrLaunchTemplateNotFound,
		"EntityAlreadyExists":                              ErrConflict,
		"InvalidLaunchTemplateName.AlreadyExistsException": ErrConflict,
		"DeleteConflict":                                   ErrInUse,
		"IdempotentParameterMismatch":                      ErrIdempotentParameterMismatch,
		"RequestLimitExceeded":                             ErrThrottled,
		"ThrottlingException":                              ErrThrottled,
		"UnauthorizedOperation":                            ErrUnauthorized,
		"AccessDenied":                                     ErrUnauthorized,
		"AccessDeniedException":                            ErrUnauthorized,
		"ExpiredToken":                                     ErrCredentials,
	}
	for code, want := range tests {
		err := wrap(apiError("EC2", "Do", code, "said the service"), "thing %q read", "x")
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", code, err, want)
		}
		if !strings.HasPrefix(err.Error(), `thing "x" read: `) {
			t.Errorf("%s: %q does not name the failed call", code, err)
		}
	}
	if err := wrap(apiError("EC2", "Do", "InvalidLaunchTemplateId.NotFound", ""), "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a launch template that is gone is also not found: %v", err)
	}
	if wrap(nil, "x") != nil {
		t.Error("no error became one")
	}
}

func TestWrap_NamesActionResourceAndPrincipal(t *testing.T) {
	const user = "arn:aws:sts::123456789012:assumed-role/daemon/s"
	tests := []struct {
		name            string
		err             error
		action, on, who string
	}{
		{
			name: "the sentence that services agree on",
			err: apiError("IAM", "CreateRole", "AccessDenied", "User: "+user+
				" is not authorized to perform: iam:CreateRole on resource: arn:aws:iam::123456789012:role/x because no identity-based policy allows the iam:CreateRole action"),
			action: "iam:CreateRole", on: "arn:aws:iam::123456789012:role/x", who: user,
		},
		{
			name: "EC2 refuses the permission that the call implies",
			err: apiError("EC2", "CreateFleet", "UnauthorizedOperation", "You are not authorized to perform this operation. User: "+user+
				" is not authorized to perform: iam:PassRole on resource: arn:aws:iam::123456789012:role/node because x"),
			action: "iam:PassRole", on: "arn:aws:iam::123456789012:role/node", who: user,
		},
		{
			name:   "EC2 says nothing: the call names the action",
			err:    apiError("EC2", "CreateFleet", "UnauthorizedOperation", "You are not authorized to perform this operation."),
			action: "ec2:CreateFleet",
		},
		{
			name: "the credentials could not be fetched: the inner call counts",
			err: &smithy.OperationError{
				ServiceID: "EC2", OperationName: "DescribeSubnets",
				Err: apiError("STS", "AssumeRoleWithWebIdentity", "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity"),
			},
			action: "sts:AssumeRoleWithWebIdentity",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got *UnauthorizedError
			if err := wrap(tt.err, "x"); !errors.As(err, &got) {
				t.Fatalf("got %v, want an *UnauthorizedError", err)
			}
			if got.Action != tt.action || got.Resource != tt.on || got.Principal != tt.who {
				t.Errorf("got %q on %q as %q", got.Action, got.Resource, got.Principal)
			}
		})
	}
}

func TestWrap_TellsAnUnreachableEndpoint(t *testing.T) {
	err := wrap(&net.DNSError{Err: "no such host", Name: "ec2.us-wset-2.amazonaws.com", IsNotFound: true}, "subnets list")
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "us-wset-2") {
		t.Errorf("got %v", err)
	}
}

func TestSyncTags_RemovesOnlyWhatWasOurs(t *testing.T) {
	var set map[string]string
	var removed []string
	err := new(Clients).syncTags(
		map[string]string{"a": "1", "old": "x", "gone": "y"},
		map[string]string{"a": "2", "new": "n", "same": "s"},
		map[string]string{"a": "1", "old": "changed", "theirs": "t", "same": "s"},
		func(tags map[string]string) error { set = tags; return nil },
		func(keys []string) error { removed = keys; return nil },
	)
	if err != nil || !maps.Equal(set, map[string]string{"a": "2", "new": "n"}) || !slices.Equal(removed, []string{"old"}) {
		t.Errorf("set %v, removed %v, error %v", set, removed, err)
	}
}

func TestSyncTags_MakesNoCallWithoutAChange(t *testing.T) {
	tags := map[string]string{"a": "1"}
	err := new(Clients).syncTags(tags, tags, map[string]string{"a": "1", "theirs": "t"},
		func(map[string]string) error { return errors.New("set") }, func([]string) error { return errors.New("removed") })
	if err != nil {
		t.Errorf("%v was called", err)
	}
}

// IAM and SQS give back a policy in another spelling than they were given.
func TestSamePolicy_ComparesWhatItMeansToAWS(t *testing.T) {
	const policy = `{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Action":["ec2:RunInstances","ec2:CreateFleet"],"Resource":["*"]},{"Sid":"b","Effect":"Deny","Action":"sqs:*","Resource":"*"}]}`
	const spelled = `{"Statement":[{"Resource":"*","Sid":"b","Effect":"Deny","Action":["sqs:*"]},{"Effect":"Allow","Sid":"a","Action":["ec2:CreateFleet","ec2:RunInstances"],"Resource":"*"}],"Version":"2012-10-17"}`
	if !SamePolicy(policy, spelled) {
		t.Error("another order, and a list of one member, make another policy")
	}
	for name, other := range map[string]string{
		"effect":   strings.Replace(policy, "Deny", "Allow", 1),
		"action":   strings.Replace(policy, "ec2:CreateFleet", "ec2:*", 1),
		"resource": strings.Replace(policy, `["*"]`, `["*","arn:aws:s3:::a"]`, 1),
		"one less": `{"Version":"2012-10-17","Statement":[{"Sid":"b","Effect":"Deny","Action":"sqs:*","Resource":"*"}]}`,
		"wider":    strings.Replace(policy, `"Sid":"a",`, `"Sid":"a","Condition":{"StringEquals":{"a":"b"}},`, 1),
		"nothing":  "",
		"no JSON":  "{",
	} {
		if SamePolicy(policy, other) {
			t.Errorf("%s: %s counts as the same policy", name, other)
		}
	}
}

func TestSamePolicy_APrincipalThatIsAPlainStringCounts(t *testing.T) {
	policy := func(principal string) string {
		return `{"Statement":[{"Effect":"Allow",` + principal + `"Action":["sqs:SendMessage","sqs:GetQueueUrl"],"Resource":"*"}]}`
	}
	everybody := policy(`"Principal": "*",`)
	if !SamePolicy(everybody, policy(`"Principal":"*",`)) {
		t.Error("white space makes another policy")
	}
	for _, other := range []string{policy(""), policy(`"Principal":"arn:aws:iam::123456789012:root",`), policy(`"NotPrincipal":"*",`), policy(`"Principal":{"AWS":"arn:aws:iam::123456789012:root"},`)} {
		if SamePolicy(everybody, other) || SamePolicy(other, everybody) {
			t.Errorf("for everybody, and %s, count as the same", other)
		}
	}
}

func TestSameJSON_ComparesMeaning(t *testing.T) {
	if !SameJSON(`{"a":1,"b":[1,2]}`, "{ \"b\": [1,2],\n\"a\": 1}") {
		t.Error("order and white space count")
	}
	if SameJSON(`{"a":[1,2]}`, `{"a":[2,1]}`) || SameJSON("not json", "{}") {
		t.Error("different texts are the same")
	}
}
