package session

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// logOf gives what is written to the log, without times and places.
func logOf(t *testing.T, write func(ctx context.Context)) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	write(tflogtest.RootLogger(t.Context(), &out))
	lines, err := tflogtest.MultilineJSONDecode(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		delete(line, "@caller")
		delete(line, "milliseconds")
	}
	return lines
}

func TestLog_ALineOfACallSaysWhichAndHowItEnded(t *testing.T) {
	got := logOf(t, func(ctx context.Context) {
		logCall(ctx, aws.Call{Service: "IAM", Operation: "GetRole", Duration: time.Second})
		logCall(ctx, aws.Call{Service: "EC2", Operation: "CreateTags", Err: errors.New("denied")})
	})
	want := []map[string]any{
		{"@level": "debug", "@module": "provider.aws", "@message": "called AWS", "service": "IAM", "operation": "GetRole"},
		{"@level": "debug", "@module": "provider.aws", "@message": "called AWS", "service": "EC2", "operation": "CreateTags", "error": "denied"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLog_ALineOfARequestHasNeitherCredentialsNorContents(t *testing.T) {
	got := logOf(t, func(ctx context.Context) {
		for _, end := range []struct {
			resp *http.Response
			err  error
		}{{resp: &http.Response{StatusCode: http.StatusConflict}}, {err: errors.New("no route")}} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPatch, "https://cluster/api/v1/nodes/a?fieldManager=x", bytes.NewReader([]byte("secret")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer secret")
			resp, err := requests{answer{end.resp, end.err}}.RoundTrip(req) //nolint:bodyclose // there is none
			if resp != end.resp || !errors.Is(err, end.err) {
				t.Errorf("the answer changed: %v, %v", resp, err)
			}
		}
	})
	line := func(more string, value any) map[string]any {
		return map[string]any{"@level": "debug", "@module": "provider.kubernetes", "@message": "called the cluster", "method": "PATCH", "path": "/api/v1/nodes/a", more: value}
	}
	if diff := cmp.Diff([]map[string]any{line("status", float64(409)), line("error", "no route")}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// answer answers each request.
type answer struct {
	resp *http.Response
	err  error
}

func (a answer) RoundTrip(*http.Request) (*http.Response, error) { return a.resp, a.err }

func TestLog_EachSubsystemHasItsLevel(t *testing.T) {
	t.Setenv(envLogAWS, "warn")
	got := logOf(t, func(ctx context.Context) {
		logCall(ctx, aws.Call{Service: "IAM", Operation: "GetRole"})
		_, _ = requests{answer{err: errors.New("no route")}}.RoundTrip((&http.Request{URL: &url.URL{}}).WithContext(ctx)) //nolint:bodyclose // there is none
	})
	if len(got) != 1 || got[0]["@module"] != "provider.kubernetes" {
		t.Errorf("with %s=warn: %v", envLogAWS, got)
	}
}
