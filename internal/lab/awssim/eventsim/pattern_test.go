package eventsim

import (
	"encoding/json"
	"errors"
	"testing"
)

const spotWarning = `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","account":"1",
  "resources":["arn:a","arn:b"],"detail":{"instance-id":"i-1","count":3,"flag":true,"nested":{"x":null}}}`

func TestPattern_Matches(t *testing.T) {
	var event any
	if err := json.Unmarshal([]byte(spotWarning), &event); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]bool{
		`{"source":["aws.ec2"]}`:                                true,
		`{"source":["aws.health","aws.ec2"]}`:                   true,
		`{"source":["aws.health"]}`:                             false,
		`{"source":["aws.ec2"],"detail-type":["Other"]}`:        false,
		`{"resources":["arn:b"]}`:                               true,
		`{"resources":["arn:c"]}`:                               false,
		`{"detail":{"instance-id":["i-1"],"count":[3]}}`:        true,
		`{"detail":{"count":["3"]}}`:                            false,
		`{"detail":{"flag":[true]}}`:                            true,
		`{"detail":{"nested":{"x":[null]}}}`:                    true,
		`{"detail":{"nested":{"y":[null]}}}`:                    false,
		`{"detail":{"instance-id":[{"prefix":"i-"}]}}`:          true,
		`{"detail":{"instance-id":[{"prefix":"x-"}]}}`:          false,
		`{"detail-type":[{"suffix":"Warning"}]}`:                true,
		`{"source":[{"equals-ignore-case":"AWS.EC2"}]}`:         true,
		`{"detail":{"none":[{"exists":false}]}}`:                true,
		`{"detail":{"instance-id":[{"exists":false}]}}`:         false,
		`{"detail":{"instance-id":[{"exists":true}]}}`:          true,
		`{"source":[{"anything-but":"aws.ec2"}]}`:               false,
		`{"source":[{"anything-but":["aws.s3","aws.health"]}]}`: true,
		`{"detail":{"none":[{"anything-but":"x"}]}}`:            false,
		`{"source":["aws.s3",{"prefix":"aws."}]}`:               true,
		`{"source":{"deep":["x"]}}`:                             false,
	} {
		p, err := parsePattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if got := p.matches(event, true); got != want {
			t.Errorf("%s matches: %v, want %v", pattern, got, want)
		}
	}
}

func TestPattern_RefusesWhatIsNotAPattern(t *testing.T) {
	for _, pattern := range []string{
		`[]`, `{}`, `{"source":"aws.ec2"}`, `{"source":[]}`, `{"source":[["a"]]}`, `{"detail":{}}`, `{"source":[{"numeric":[">",1]}]}`,
		`{"source":[{"prefix":"a","suffix":"b"}]}`, `{"source":[{"exists":"yes"}]}`, `{"source":[{"anything-but":{"prefix":"a"}}]}`,
	} {
		if _, err := parsePattern(pattern); !errors.Is(err, errPattern) {
			t.Errorf("%s: error is %v", pattern, err)
		}
	}
}
