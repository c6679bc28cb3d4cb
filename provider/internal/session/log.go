package session

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// The log has a line for each call to AWS and to the cluster: which call, how long it took
// and how it ended. It has no contents, which would be credentials, user data and Secrets.
// Each of the two is a subsystem, whose level is that of an environment variable, or of
// TF_LOG_PROVIDER_KARPENTER, TF_LOG_PROVIDER or TF_LOG.
const (
	logAWS        = "aws"
	logKubernetes = "kubernetes"

	envLogAWS        = "TF_LOG_PROVIDER_KARPENTER_AWS"
	envLogKubernetes = "TF_LOG_PROVIDER_KARPENTER_KUBERNETES"
)

// logCall writes the line of a call to AWS.
func logCall(ctx context.Context, call aws.Call) {
	debug(ctx, logAWS, envLogAWS, "called AWS", map[string]any{
		"service": call.Service, "operation": call.Operation, "milliseconds": call.Duration.Milliseconds(),
	}, call.Err)
}

// requests writes a line for each request to the API server.
type requests struct{ http.RoundTripper }

func (r requests) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := r.RoundTripper.RoundTrip(req)
	fields := map[string]any{"method": req.Method, "path": req.URL.Path, "milliseconds": time.Since(began).Milliseconds()}
	if resp != nil {
		fields["status"] = resp.StatusCode
	}
	debug(req.Context(), logKubernetes, envLogKubernetes, "called the cluster", fields, err)
	return resp, err
}

func debug(ctx context.Context, subsystem, env, message string, fields map[string]any, err error) {
	if err != nil {
		fields["error"] = err.Error()
	}
	tflog.SubsystemDebug(tflog.NewSubsystem(ctx, subsystem, tflog.WithLevelFromEnv(env)), subsystem, message, fields)
}

// LogClients sends what client-go says by itself to where Terraform looks for a provider's
// lines. It holds for the whole process.
func LogClients() {
	level := hclog.LevelFromString(os.Getenv(envLogKubernetes))
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	kube.LogTo(hclog.New(&hclog.LoggerOptions{Name: "provider." + logKubernetes, Level: level, JSONFormat: true, Output: os.Stderr}))
}
