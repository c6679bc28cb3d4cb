package aws

import (
	"context"
	"strings"
	"testing"
)

func TestNew_RefusesBadConfigurationByName(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	tests := []struct {
		name   string
		config Config
		want   string
	}{
		{"no region", Config{}, "region is not set; set region or AWS_REGION"},
		{"malformed region", Config{Region: "oregon"}, `region "oregon" is not an AWS region`},
		{"unknown endpoint", Config{Region: "us-west-2", Endpoints: map[string]string{"s3": "http://x"}}, `endpoints["s3"]: unknown service`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(context.Background(), tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}
