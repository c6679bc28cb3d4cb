//go:build lab

package judge

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
)

//go:embed wire.py
var wireScript string

// record is one response as wire.py reads it.
type record struct {
	Service   string            `json:"service"` // the service id of the SDK
	Operation string            `json:"operation"`
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers"`
	Body      []byte            `json:"body"`
}

// recorder is a transport that keeps every response.
type recorder struct {
	mu      sync.Mutex
	records []record
}

// RoundTrip passes the request on and keeps the answer.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	kept := record{awsmiddleware.GetServiceID(request.Context()), awsmiddleware.GetOperationName(request.Context()), response.StatusCode, map[string]string{}, body}
	for name := range response.Header {
		kept.Headers[name] = response.Header.Get(name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, kept)
	return response, nil
}

// finding is a line of wire.py.
type finding struct {
	Service, Operation, Where, What string
	Record                          int // its index
	Responses, Operations           int // of the last line, which counts
}

func (f finding) String() string {
	return strings.TrimSpace(f.Service + " " + f.Operation + " " + f.Where + ": " + f.What)
}

// judgeRecords has botocore read the records; the last line counts what it read.
func judgeRecords(t *testing.T, records []record) (findings []finding, count finding) {
	t.Helper()
	python, err := Python(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var in, out, complaint bytes.Buffer
	lines := json.NewEncoder(&in)
	for _, r := range records {
		if err := lines.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", wireScript)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("wire.py: %v\n%s", err, tail(complaint.String()))
	}
	for found := json.NewDecoder(&out); found.More(); {
		var f finding
		if err := found.Decode(&f); err != nil {
			t.Fatal(err)
		}
		findings = append(findings, f)
	}
	if len(findings) == 0 || findings[len(findings)-1].Responses != len(records) {
		t.Fatalf("wire.py did not read %d records: %v\n%s", len(records), findings, complaint.String())
	}
	return findings[:len(findings)-1], findings[len(findings)-1]
}

func TestWire_BotocoreKnowsEveryMemberAndCode(t *testing.T) {
	kept := &recorder{}
	w := startSimulatorWorld(t, kept)
	for _, c := range contracts() {
		if _, err := observe(t.Context(), c, w); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := observe(t.Context(), contract{run: sweep}, w); err != nil {
		t.Errorf("sweep: %v", err)
	}
	answered := map[string]bool{}
	for _, r := range kept.records {
		if r.Status == http.StatusOK {
			answered[strings.ToLower(r.Service)+" "+r.Operation] = true
		}
	}
	for service, actions := range w.cloud.Actions() {
		id := map[string]string{"events": "eventbridge"}[service]
		if id == "" {
			id = service
		}
		for _, action := range actions {
			if !answered[id+" "+action] {
				t.Errorf("no answer of %s %s was recorded", service, action)
			}
		}
	}
	findings, count := judgeRecords(t, kept.records)
	for _, f := range findings {
		t.Error(f)
	}
	t.Logf("%d responses to %d operations read with botocore's models, %d findings", count.Responses, count.Operations, len(findings))
}

// What the check is for, each broken in one way.
func TestWire_FindsWhatIsBroken(t *testing.T) {
	ec2 := func(members string) string {
		return `<DescribeSubnetsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><subnetSet><item>` + members + `</item></subnetSet></DescribeSubnetsResponse>`
	}
	role := func(members string) string {
		return `<GetRoleResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><GetRoleResult><Role>` + members + `</Role></GetRoleResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></GetRoleResponse>`
	}
	const whole = `<Path>/</Path><RoleName>a</RoleName><RoleId>AROAAAAAAAAAAAAAAAAAA</RoleId><Arn>arn:aws:iam::123456789012:role/a</Arn><CreateDate>2026-01-02T03:04:05Z</CreateDate>`
	iamError := `<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type><Code>%s</Code><Message>m</Message></Error><RequestId>r</RequestId></ErrorResponse>`
	id := map[string]string{"X-Amzn-Requestid": "r"}
	tests := []struct {
		name, service, operation string
		status                   int
		body, want               string
	}{
		{"nothing", "EC2", "DescribeSubnets", 200, ec2(`<subnetId>subnet-1</subnetId><availableIpAddressCount>3</availableIpAddressCount><state>available</state>`), ""},
		{"member", "EC2", "DescribeSubnets", 200, ec2(`<colour>blue</colour>`), "ec2 DescribeSubnets Subnets[].colour: unknown member"},
		{"integer", "EC2", "DescribeSubnets", 200, ec2(`<availableIpAddressCount>many</availableIpAddressCount>`), "botocore cannot read"},
		{"boolean", "EC2", "DescribeSubnets", 200, ec2(`<defaultForAz>yes</defaultForAz>`), "Subnets[].DefaultForAz: 'yes' is no boolean"},
		{"enumeration", "EC2", "DescribeSubnets", 200, ec2(`<state>lost</state>`), "'lost' is not in the model's enumeration"},
		{"list element", "EC2", "DescribeSubnets", 200, strings.ReplaceAll(ec2(""), "item>", "member>"), "list element is not named item"},
		{"namespace", "EC2", "DescribeSubnets", 200, strings.ReplaceAll(ec2(""), "2016-11-15", "2014-01-01"), "the root element is"},
		{"request id", "EC2", "DescribeSubnets", 200, strings.ReplaceAll(ec2(""), "<requestId>r</requestId>", ""), "no request id"},
		{"whole role", "IAM", "GetRole", 200, role(whole + `<AssumeRolePolicyDocument>x</AssumeRolePolicyDocument>`), ""},
		{"required", "IAM", "GetRole", 200, role(strings.Replace(whole, "<Path>/</Path>", "", 1)), "iam GetRole Role.Path: required member is missing"},
		{"pattern", "IAM", "GetRole", 200, role(strings.Replace(whole, "AROAAAAAAAAAAAAAAAAAA", "AROA-AAAAAAAAAAAAAAAA", 1)), "does not match"},
		{"bounds", "IAM", "GetRole", 200, role(strings.Replace(whole, "AROAAAAAAAAAAAAAAAAAA", "AROA", 1)), "is outside 16..128"},
		{"timestamp", "IAM", "GetRole", 200, role(strings.Replace(whole, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05+02:00", 1)), "is no timestamp in UTC"},
		{"known code", "IAM", "GetRole", 404, fmt.Sprintf(iamError, "NoSuchEntity"), ""},
		{"code", "IAM", "GetRole", 404, fmt.Sprintf(iamError, "NotHere"), "the model of the operation has no error NotHere"},
		{"code of another operation", "IAM", "GetRole", 409, fmt.Sprintf(iamError, "EntityAlreadyExists"), "the model of the operation has no error EntityAlreadyExists"},
		{"status", "IAM", "GetRole", 400, fmt.Sprintf(iamError, "NoSuchEntity"), "NoSuchEntity comes with status 404 in the model, not 400"},
		{"JSON", "SSM", "GetParameter", 200, `{"Parameter":{"Name":"a","Version":1}}`, ""},
		{"JSON member", "SSM", "GetParameter", 200, `{"Parameter":{"name":"a"}}`, "ssm GetParameter Parameter.name: unknown member"},
		{"JSON type", "SSM", "GetParameter", 200, `{"Parameter":{"Version":"1"}}`, "Parameter.Version: '1' is no long"},
		{"JSON null", "SSM", "GetParameters", 200, `{"Parameters":null}`, "Parameters: None is no list"},
		{"JSON timestamp", "SSM", "GetParameter", 200, `{"Parameter":{"LastModifiedDate":"2026-01-02"}}`, "is no timestamp"},
		{"JSON code", "SSM", "GetParameter", 400, `{"__type":"NotHere","message":"m"}`, "no error NotHere"},
		{"JSON status", "EKS", "DescribeCluster", 400, `{"__type":"ResourceNotFoundException","message":"m"}`, "comes with status 404"},
		{"empty answer", "SQS", "DeleteQueue", 200, `{"QueueUrl":"x"}`, "the model has an empty answer"},
	}
	var records []record
	for _, test := range tests {
		records = append(records, record{test.service, test.operation, test.status, id, []byte(test.body)})
	}
	found := make([][]finding, len(tests))
	findings, _ := judgeRecords(t, records)
	for _, f := range findings {
		found[f.Record] = append(found[f.Record], f)
	}
	for n, test := range tests {
		got := found[n]
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), test.want)) {
			t.Errorf("%s: found %v, want %q", test.name, got, test.want)
		}
	}
}
