package awsspec

import (
	"slices"
	"strings"
)

// The environment variables of AWS's SDKs that ask for FIPS endpoints and for dual-stack
// ones, which answer by IPv6, too.
const (
	EnvFIPS      = "AWS_USE_FIPS_ENDPOINT"
	EnvDualStack = "AWS_USE_DUALSTACK_ENDPOINT"
)

// partition is a part of AWS with its own accounts, ARNs and endpoints. Source: the
// endpoint rule set of AWS's SDKs (partitions.json).
type partition struct {
	name, regionPrefix         string
	dnsSuffix, dualStackSuffix string // of endpoints
}

func partitions() []partition {
	return []partition{
		{"aws-cn", "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
		{"aws-us-gov", "us-gov-", commonSuffix, "api.aws"},
		{"aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
		{"aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
		{"aws-iso-e", "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
		{"aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
		{"aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
		{"aws", "", commonSuffix, "api.aws"},
	}
}

// commonSuffix is the domain of most endpoints, and of service principals.
const commonSuffix = "amazonaws.com"

// Partition returns the partition of a region, such as "aws" for us-west-2.
func Partition(region string) string {
	for _, p := range partitions() {
		if strings.HasPrefix(region, p.regionPrefix) {
			return p.name
		}
	}
	return "aws"
}

// DNSSuffix returns the domain of a partition's endpoints, and of the issuers of its clusters.
// That of service principals is another in some partitions; see ec2Principal.
func DNSSuffix(name string) string {
	for _, p := range partitions() {
		if p.name == name {
			return p.dnsSuffix
		}
	}
	return commonSuffix
}

// DualStackSuffixes returns the domains of dual-stack endpoints.
func DualStackSuffixes() []string {
	var out []string
	for _, p := range partitions() {
		if !slices.Contains(out, p.dualStackSuffix) {
			out = append(out, p.dualStackSuffix)
		}
	}
	return out
}

// MetadataByIPv6 says whether EC2 accepts the setting of the metadata service for IPv6 in the
// region. Source: what Karpenter leaves out of launch templates.
func MetadataByIPv6(region string) bool {
	switch Partition(region) {
	case "aws-iso", "aws-iso-b", "aws-iso-f":
		return false
	}
	return true
}
