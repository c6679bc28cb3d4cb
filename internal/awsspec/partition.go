package awsspec

import "strings"

// partition is a part of AWS with its own accounts, ARNs and endpoints. Source: the
// endpoint rule set of AWS's SDKs (partitions.json).
type partition struct {
	name, regionPrefix, dnsSuffix string
}

func partitions() []partition {
	return []partition{
		{"aws-cn", "cn-", "amazonaws.com.cn"},
		{"aws-us-gov", "us-gov-", "amazonaws.com"},
		{"aws-iso", "us-iso-", "c2s.ic.gov"},
		{"aws-iso-b", "us-isob-", "sc2s.sgov.gov"},
		{"aws-iso-e", "eu-isoe-", "cloud.adc-e.uk"},
		{"aws-iso-f", "us-isof-", "csp.hci.ic.gov"},
		{"aws-eusc", "eusc-", "amazonaws.eu"},
		{"aws", "", "amazonaws.com"},
	}
}

// Partition returns the partition of a region, such as "aws" for us-west-2.
func Partition(region string) string {
	for _, p := range partitions() {
		if strings.HasPrefix(region, p.regionPrefix) {
			return p.name
		}
	}
	return "aws"
}

// DNSSuffix returns the domain of a partition's services and service principals.
func DNSSuffix(name string) string {
	for _, p := range partitions() {
		if p.name == name {
			return p.dnsSuffix
		}
	}
	return "amazonaws.com"
}
