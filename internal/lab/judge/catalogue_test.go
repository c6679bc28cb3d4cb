//go:build lab

package judge

import (
	"net/http"
	"os"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
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
	// moto is slow with so many types where the processors are busy.
	sdk := awssdk.Config{
		Region: region, Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""),
		HTTPClient: &http.Client{Timeout: 10 * time.Minute},
	}
	c, err := aws.NewFrom(sdk, aws.Config{Endpoints: map[string]string{"ec2": server.URL}})
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
