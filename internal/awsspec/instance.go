package awsspec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
)

// ClientToken is CreateFleet's idempotency token for a launch attempt of a NodeClaim: 32
// lowercase hex digits. The same attempt always has the same token. A new attempt has a
// new token, because EC2 gives the same answer to the same token, even a failure.
func ClientToken(uid string, attempt int) string {
	sum := sha256.Sum256([]byte(uid + "/" + strconv.Itoa(attempt)))
	return hex.EncodeToString(sum[:])[:32]
}

// ProviderID is a node's spec.providerID: aws:///<zone>/<instance id>.
func ProviderID(zone, instanceID string) string { return "aws:///" + zone + "/" + instanceID }

// ParseProviderID reads a spec.providerID.
func ParseProviderID(providerID string) (zone, instanceID string, err error) {
	m := regexp.MustCompile(`^aws:///([0-9a-z-]+)/(i-[0-9a-z]+)$`).FindStringSubmatch(providerID)
	if m == nil {
		return "", "", fmt.Errorf("provider id %q: must be aws:///<zone>/<instance id>", providerID)
	}
	return m[1], m[2], nil
}
