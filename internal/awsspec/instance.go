package awsspec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
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

// ParseProviderID reads a spec.providerID. It is asked of every node many times a minute.
func ParseProviderID(providerID string) (zone, instanceID string, err error) {
	rest, ofAWS := strings.CutPrefix(providerID, "aws:///")
	zone, instanceID, two := strings.Cut(rest, "/")
	of, isInstance := strings.CutPrefix(instanceID, "i-")
	if !ofAWS || !two || !isInstance || zone == "" || of == "" || strings.ContainsFunc(zone+of, isForeign) || strings.Contains(of, "-") {
		return "", "", fmt.Errorf("provider id %q: must be aws:///<zone>/<instance id>", providerID)
	}
	return zone, instanceID, nil
}

// isForeign says whether no zone and no instance id has the character.
func isForeign(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-'
}
