package kube

import (
	"fmt"
	"strconv"
	"strings"
)

// The Kubernetes minor versions (of 1) that the product works with.
const (
	OldestMinor = 30
	NewestMinor = 36
)

// CheckVersion refuses an API server that the product does not know, by the
// major and minor of its /version; EKS writes a minor as "31+".
func CheckVersion(major, minor string) error {
	m, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	if err == nil && major == "1" && OldestMinor <= m && m <= NewestMinor {
		return nil
	}
	return fmt.Errorf("kubernetes %s.%s is not supported: this release works with 1.%d to 1.%d; upgrade the cluster, or take another release",
		major, minor, OldestMinor, NewestMinor)
}
