package aws

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// Cluster is an EKS cluster.
type Cluster struct {
	Name, ARN, Version, Status string // Version is like 1.36
	Endpoint                   string // https URL of the API server
	CertificateAuthority       []byte // PEM
	Issuer                     string // URL of the OIDC issuer; empty: none
	ServiceCIDR                string // IPv4 range, else the IPv6 one
	SecurityGroupID, VPCID     string // the cluster security group
	SubnetIDs                  []string
	AuthenticationMode         string // API, API_AND_CONFIG_MAP or AuthenticationConfigMap
}

// Cluster reads a cluster by name. Error: ErrNotFound.
func (c *Clients) Cluster(ctx context.Context, name string) (Cluster, error) {
	out, err := c.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &name})
	if err != nil {
		return Cluster{}, wrap(err, "eks cluster %q read", name)
	}
	in := out.Cluster
	cluster := Cluster{
		Name: awssdk.ToString(in.Name), ARN: awssdk.ToString(in.Arn), Version: awssdk.ToString(in.Version),
		Status: string(in.Status), Endpoint: awssdk.ToString(in.Endpoint),
	}
	if in.CertificateAuthority != nil {
		cluster.CertificateAuthority, err = base64.StdEncoding.DecodeString(awssdk.ToString(in.CertificateAuthority.Data))
		if err != nil {
			return Cluster{}, fmt.Errorf("eks cluster %q read: decode certificate authority: %w", name, err)
		}
	}
	if in.Identity != nil && in.Identity.Oidc != nil {
		cluster.Issuer = awssdk.ToString(in.Identity.Oidc.Issuer)
	}
	if n := in.KubernetesNetworkConfig; n != nil {
		cluster.ServiceCIDR = awssdk.ToString(n.ServiceIpv4Cidr)
		if cluster.ServiceCIDR == "" {
			cluster.ServiceCIDR = awssdk.ToString(n.ServiceIpv6Cidr)
		}
	}
	if v := in.ResourcesVpcConfig; v != nil {
		cluster.SecurityGroupID, cluster.VPCID, cluster.SubnetIDs = awssdk.ToString(v.ClusterSecurityGroupId), awssdk.ToString(v.VpcId), v.SubnetIds
	}
	if a := in.AccessConfig; a != nil {
		cluster.AuthenticationMode = string(a.AuthenticationMode)
	}
	return cluster, nil
}

// AuthenticationConfigMap is the authentication mode of a cluster without access
// entries.
const AuthenticationConfigMap = "CONFIG_MAP"

// AccessEntry gives an IAM principal access to a cluster.
type AccessEntry struct {
	Cluster, PrincipalARN string
	Type                  string    // STANDARD or EC2_LINUX
	Username              string    // read only for EC2_LINUX, where EKS sets it
	Groups                []string  // read only for EC2_LINUX; sorted
	ARN                   string    // read only; ends in an id that no other entry ever has. An update compares it if it is set
	Created               time.Time // read only
	Tags                  map[string]string
}

// CreateAccessEntry makes the entry. If EKS does not know the role yet, which may be
// new, it waits. Errors: ErrConflict if the principal has an entry already; ErrNotFound
// if the cluster does not exist. If the entry was made all the same, the error comes with
// an entry whose ARN is set, and the caller must delete that entry.
func (c *Clients) CreateAccessEntry(ctx context.Context, want AccessEntry) (AccessEntry, error) {
	in := &eks.CreateAccessEntryInput{
		ClusterName: &want.Cluster, PrincipalArn: &want.PrincipalARN, Type: &want.Type,
		Username: optional(want.Username), KubernetesGroups: want.Groups, Tags: want.Tags,
	}
	unknownPrincipal := func(err error) bool { return hasCode(err, "InvalidParameterException", "principal") }
	var out *eks.CreateAccessEntryOutput
	sent := c.newSendings()
	err := c.propagate(ctx, unknownPrincipal, func() (err error) {
		out, err = c.eks.CreateAccessEntry(ctx, in, sent.ofEKS)
		return err
	})
	if err != nil {
		failure := wrap(err, "access entry for %s in cluster %q create", want.PrincipalARN, want.Cluster)
		read := func(ctx context.Context) (AccessEntry, error) {
			return c.GetAccessEntry(ctx, want.Cluster, want.PrincipalARN)
		}
		return afterFailure(ctx, c, sent, failure, read, func(have AccessEntry) bool {
			return sent.mayHaveMade(have.Created) && have.Type == want.Type && maps.Equal(have.Tags, withoutReserved(want.Tags))
		})
	}
	return accessEntry(want.Cluster, out.AccessEntry), nil
}

// GetAccessEntry reads the principal's entry. Error: ErrNotFound if the entry or the
// cluster does not exist.
func (c *Clients) GetAccessEntry(ctx context.Context, cluster, principalARN string) (AccessEntry, error) {
	out, err := c.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: &cluster, PrincipalArn: &principalARN})
	if err != nil {
		return AccessEntry{}, wrap(err, "access entry for %s in cluster %q read", principalARN, cluster)
	}
	return accessEntry(cluster, out.AccessEntry), nil
}

func accessEntry(cluster string, e *ekstypes.AccessEntry) AccessEntry {
	return AccessEntry{
		Cluster: cluster, PrincipalARN: awssdk.ToString(e.PrincipalArn), Type: awssdk.ToString(e.Type), Username: awssdk.ToString(e.Username),
		Groups: slices.Sorted(slices.Values(e.KubernetesGroups)), ARN: awssdk.ToString(e.AccessEntryArn), Created: awssdk.ToTime(e.CreatedAt), Tags: withoutReserved(e.Tags),
	}
}

// UpdateAccessEntryTags changes the entry's tags to want; tags as in UpdateRole.
// Errors: ErrNotFound, ErrReplaced.
func (c *Clients) UpdateAccessEntryTags(ctx context.Context, prior, want AccessEntry) (AccessEntry, error) {
	have, err := c.GetAccessEntry(ctx, want.Cluster, want.PrincipalARN)
	if err != nil {
		return AccessEntry{}, err
	}
	if err := sameIfKnown(want.ARN, have.ARN); err != nil {
		return AccessEntry{}, fmt.Errorf("access entry for %s in cluster %q update: %w", want.PrincipalARN, want.Cluster, err)
	}
	err = c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: &have.ARN, Tags: set})
		return wrap(err, "access entry %s tag", have.ARN)
	}, func(keys []string) error {
		_, err := c.eks.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: &have.ARN, TagKeys: keys})
		return wrap(err, "access entry %s untag", have.ARN)
	})
	if err != nil {
		return AccessEntry{}, err
	}
	return c.GetAccessEntry(ctx, want.Cluster, want.PrincipalARN)
}

// DeleteAccessEntry deletes the principal's entry. It is no error if the entry is gone,
// or if the entry has another ARN: then the entry stays.
func (c *Clients) DeleteAccessEntry(ctx context.Context, cluster, principalARN, arn string) error {
	have, err := beforeDelete(ctx, c, func() (AccessEntry, error) { return c.GetAccessEntry(ctx, cluster, principalARN) })
	if err != nil {
		return unlessGone(err)
	}
	if !known(arn, have.ARN) {
		return nil
	}
	_, err = c.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: &cluster, PrincipalArn: &principalARN})
	return unlessGone(wrap(err, "access entry for %s in cluster %q delete", principalARN, cluster))
}
