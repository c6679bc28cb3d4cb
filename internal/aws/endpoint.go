package aws

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// EndpointOptions are the options of the SDK's configuration that say whether FIPS endpoints
// and dual-stack ones are called; none for what is nil.
func EndpointOptions(fips, dualStack *bool) (options []func(*config.LoadOptions) error) {
	if fips != nil {
		state := awssdk.FIPSEndpointStateDisabled
		if *fips {
			state = awssdk.FIPSEndpointStateEnabled
		}
		options = append(options, config.WithUseFIPSEndpoint(state))
	}
	if dualStack != nil {
		state := awssdk.DualStackEndpointStateDisabled
		if *dualStack {
			state = awssdk.DualStackEndpointStateEnabled
		}
		options = append(options, config.WithUseDualStackEndpoint(state))
	}
	return options
}

// UsesFIPS says whether the clients call FIPS endpoints.
func (c *Clients) UsesFIPS() bool {
	return c.kinds.UseFIPSEndpoint == awssdk.FIPSEndpointStateEnabled
}

// UsesDualStack says whether the clients call endpoints that answer by IPv6, too.
func (c *Clients) UsesDualStack() bool {
	return c.kinds.UseDualStackEndpoint == awssdk.DualStackEndpointStateEnabled
}

// missingEndpoint says of which kind the endpoint is that does not exist, and what to do; ""
// where that is not why the call failed. The SDK makes up the names of such endpoints, also
// where AWS has none, so that DNS is who knows.
func missingEndpoint(err error) string {
	var lookup *net.DNSError
	if !errors.As(err, &lookup) || !lookup.IsNotFound {
		return ""
	}
	host := strings.TrimSuffix(lookup.Name, ".")
	for _, kind := range []struct {
		is            bool
		name, setting string
	}{
		{isFIPS(host), "FIPS", awsspec.EnvFIPS},
		{isDualStack(host), "dual-stack", awsspec.EnvDualStack},
	} {
		if kind.is {
			return fmt.Sprintf("DNS does not know the %s endpoint %s: AWS has none of this service there, or the network hides it: "+
				"give the service an endpoint of its own (endpoints of the provider, AWS_ENDPOINT_URL_... elsewhere), or do not ask for %s endpoints (use_%s_endpoint, $%s)",
				kind.name, host, kind.name, strings.ToLower(strings.ReplaceAll(kind.name, "-", "")), kind.setting)
		}
	}
	return ""
}

func isFIPS(host string) bool {
	return slices.ContainsFunc(strings.Split(host, "."), func(part string) bool { return part == "fips" || strings.HasSuffix(part, "-fips") })
}

func isDualStack(host string) bool {
	return slices.ContainsFunc(awsspec.DualStackSuffixes(), func(suffix string) bool { return strings.HasSuffix(host, "."+suffix) })
}
