//go:build lab

package judge

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
)

// moto has EC2's own descriptions of instance types, and the embedded catalogue was made of
// them. Bandwidths that EC2's documentation has are better than those of the descriptions,
// but both say the same of nearly every type.
func TestCatalogue_TheDaemonReadsEC2sDescriptionsAsTheCatalogueHasThem(t *testing.T) {
	python, err := Python(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	server, err := StartMoto(t.Context(), python, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	c, err := aws.New(t.Context(), aws.Config{Region: region, Endpoints: map[string]string{"ec2": server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	described, err := c.InstanceTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known, _, err := embedded.Load(region)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]catalog.Fact{}
	for _, f := range known {
		byName[f.Name] = f
	}
	otherBandwidth := 0
	for _, got := range described {
		want := byName[got.Name]
		want.BranchENIs = 0
		if got.NetworkMbps != want.NetworkMbps {
			otherBandwidth++
			want.NetworkMbps = got.NetworkMbps
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Name, diff)
		}
	}
	if len(described) < 1300 || otherBandwidth*10 > len(described) {
		t.Errorf("%d types are described, %d with another bandwidth than documented", len(described), otherBandwidth)
	}
}
