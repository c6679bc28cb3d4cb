package awsspec

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// NodeProfile says what an instance profile is made for: a role of a node class.
type NodeProfile struct {
	Region, Cluster, NodeClass, NodeClassUID string
	Role                                     string // a name
}

// RoleName is the name of a role that is given by name, by path and name, or by ARN.
func RoleName(role string) string { return role[strings.LastIndexByte(role, '/')+1:] }

// Name is the profile's name. It follows from what the profile is made for: if the answer
// to a creation is lost, the next try finds the same name. Another role has another name.
func (p NodeProfile) Name() string {
	sum := fnv.New64a()
	// None of the parts has a slash.
	sum.Write([]byte(strings.Join([]string{p.Region, p.NodeClass, p.NodeClassUID, p.Role}, "/")))
	return fmt.Sprintf("%s_%d", p.Cluster, sum.Sum64())
}

// ProfilePath is the IAM path of the cluster's profiles, as in Karpenter. IAM has no
// regions, so the path has one.
func ProfilePath(region, cluster string) string {
	return "/karpenter/" + region + "/" + cluster + "/"
}

// Path is the IAM path of all profiles of the node class.
func (p NodeProfile) Path() string { return ProfilePath(p.Region, p.Cluster) + p.NodeClassUID + "/" }

// Tags returns the tags of the user and of the profile; the profile's win. It leaves out
// what EC2 accepts and IAM does not: other characters, and of keys that differ in case only
// all but one (IAM API reference, "Tag").
func (p NodeProfile) Tags(user map[string]string) map[string]string {
	tags, seen := map[string]string{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(user)) {
		if folded := strings.ToLower(key); !seen[folded] && takenByIAM(key) && takenByIAM(user[key]) {
			seen[folded], tags[key] = true, user[key]
		}
	}
	tags[TagClusterPrefix+p.Cluster] = TagOwned
	tags[TagClusterName] = p.Cluster
	tags[TagNodeClass] = p.NodeClass
	tags[TagRegion] = p.Region
	return tags
}

func takenByIAM(text string) bool {
	return regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`).MatchString(text)
}

// Owns says whether a profile with these tags was made for the node class.
func (p NodeProfile) Owns(tags map[string]string) bool {
	return OwnsProfile(p.Region, p.Cluster, tags) && tags[TagNodeClass] == p.NodeClass
}

// OwnsProfile says whether a profile with these tags was made for a node class of the
// cluster. The daemon's policies allow it to change no other profile.
func OwnsProfile(region, cluster string, tags map[string]string) bool {
	return tags[TagClusterPrefix+cluster] == TagOwned && tags[TagRegion] == region && tags[TagNodeClass] != ""
}

// PartitionAndAccount are the second and the fifth part of an ARN.
func PartitionAndAccount(arn string) (partition, account string) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return "", ""
	}
	return parts[1], parts[4]
}
