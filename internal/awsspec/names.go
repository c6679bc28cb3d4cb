package awsspec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of names, in characters. Sources: the CreateCluster (EKS), CreateRole,
// CreateInstanceProfile and CreatePolicy (IAM), CreateQueue (SQS) and PutRule (EventBridge)
// pages of the API references.
const (
	maxClusterName = 100
	maxRoleName    = 64
	maxProfileName = 128
	maxPolicyName  = 128
	maxQueueName   = 80
	maxRuleName    = 64
	maxDescription = 1000
)

// CheckClusterName returns an error for an invalid name of an EKS cluster.
func CheckClusterName(name string) error {
	return checkName("cluster name", name, `^[0-9A-Za-z][0-9A-Za-z_-]*$`, maxClusterName,
		"letters, digits, - and _, beginning with a letter or digit")
}

// CheckRoleName returns an error for an invalid name of an IAM role. A path or ARN is not a name.
func CheckRoleName(name string) error {
	return checkName("role name", name, `^[\w+=,.@-]+$`, maxRoleName, "letters, digits and +=,.@_-, without path or ARN")
}

// CheckInstanceProfileName returns an error for an invalid name of an instance profile.
func CheckInstanceProfileName(name string) error {
	return checkName("instance profile name", name, `^[\w+=,.@-]+$`, maxProfileName, "letters, digits and +=,.@_-, without path or ARN")
}

// CheckQueueName returns an error for an invalid name of a queue. A URL or ARN is not a name, and FIFO queues are not supported.
func CheckQueueName(name string) error {
	return checkName("queue name", name, `^[0-9A-Za-z_-]+$`, maxQueueName, "letters, digits, - and _ (no URL or ARN; a standard queue)")
}

// CheckRole returns an error for what is no role's name, path and name, or ARN.
func CheckRole(role string) error {
	if strings.HasPrefix(role, "arn:") {
		return CheckRoleARN(role)
	}
	return CheckRoleName(RoleName(role))
}

// CheckRoleARN returns an error for an invalid ARN of an IAM role.
func CheckRoleARN(arn string) error {
	if !regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/([\x21-\x7e]+/)?[\w+=,.@-]{1,64}$`).MatchString(arn) {
		return fmt.Errorf("role ARN %q: must be arn:<partition>:iam::<account>:role/<name>, such as arn:aws:iam::123456789012:role/karpenter", arn)
	}
	return nil
}

// CheckRoleDescription returns an error for a description that IAM does not accept (IAM API
// reference, CreateRole).
func CheckRoleDescription(text string) error {
	if length := utf8.RuneCountInString(text); length > maxDescription {
		return fmt.Errorf("description: has %d characters, and IAM accepts %d: shorten it", length, maxDescription)
	}
	if !regexp.MustCompile(`^[\t\n\r\x20-\x7e\xa1-\xff]*$`).MatchString(text) {
		return fmt.Errorf("description %q: IAM accepts letters of Latin-1, digits, punctuation and line breaks only: remove other characters", text)
	}
	return nil
}

// RolePathOfARN is the path in the ARN of a role, which must be valid by CheckRoleARN; "/"
// for a role without a path.
func RolePathOfARN(arn string) string {
	_, rest, _ := strings.Cut(arn, ":role")
	return rest[:strings.LastIndexByte(rest, '/')+1]
}

// CheckUserTag returns an error for a tag that users cannot give to what the daemon
// creates. It checks EC2's limits (EC2 user guide, "tag restrictions"), and refuses the
// keys that the daemon sets.
func CheckUserTag(key, value string) error {
	switch {
	case key == "" || utf8.RuneCountInString(key) > 128:
		return fmt.Errorf("tag key %q: must have 1 to 128 characters", key)
	case utf8.RuneCountInString(value) > 256:
		return fmt.Errorf("tag %q: its value has %d characters, and EC2 accepts 256: shorten it", key, utf8.RuneCountInString(value))
	case regexp.MustCompile(`^(?i:aws:)`).MatchString(key):
		return fmt.Errorf("tag key %q: keys beginning with aws: belong to AWS: choose another key", key)
	case reservedTag(key):
		return fmt.Errorf("tag key %q: is set by the daemon: remove the tag", key)
	}
	return nil
}

// QueueName is the default name of a cluster's interruption queue: the cluster's name, shortened if SQS would refuse it.
func QueueName(cluster string) string { return shortened("", cluster, "", maxQueueName) }

// NodeRoleName is the default name of a cluster's node role: KarpenterNodeRole- and the
// cluster's name, shortened if IAM would refuse it.
func NodeRoleName(cluster string) string {
	return shortened("KarpenterNodeRole-", cluster, "", maxRoleName)
}

// ControllerRoleName is the default name of the role of a cluster's daemon:
// KarpenterControllerRole- and the cluster's name, shortened if IAM would refuse it.
func ControllerRoleName(cluster string) string {
	return shortened("KarpenterControllerRole-", cluster, "", maxRoleName)
}

// RegionalRoleName is a name for the role of a cluster whose default name is taken in the
// account: the name and the region, shortened if IAM would refuse it.
func RegionalRoleName(name, region string) string {
	return shortened("", name, "-"+region, maxRoleName)
}

func checkName(kind, name, pattern string, limit int, allowed string) error {
	if length := utf8.RuneCountInString(name); length == 0 || length > limit {
		return fmt.Errorf("%s %q: has %d characters and must have 1 to %d", kind, name, length, limit)
	}
	if !regexp.MustCompile(pattern).MatchString(name) {
		return fmt.Errorf("%s %q: must consist of %s", kind, name, allowed)
	}
	return nil
}

// shortened puts an ASCII name between prefix and suffix. If the result would exceed the
// limit, the end of the name is replaced by eight digits of its hash, so that different
// long names stay different.
func shortened(prefix, name, suffix string, limit int) string {
	if whole := prefix + name + suffix; len(whole) <= limit {
		return whole
	}
	sum := sha256.Sum256([]byte(name))
	mark := "-" + hex.EncodeToString(sum[:4])
	return prefix + name[:limit-len(prefix)-len(suffix)-len(mark)] + mark + suffix
}

// EC2 Spot as a principal, and the role by which it acts in an account. Both are the same in
// all partitions. Source: EC2 user guide, "Service-linked role for EC2 Spot Instance requests".
const (
	SpotService  = "spot.amazonaws.com"
	SpotRoleName = "AWSServiceRoleForEC2Spot"
)
