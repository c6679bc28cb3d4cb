package provider

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// namesakeError says of a role that is in the way whose it is.
type namesakeError struct {
	role            string
	cluster, region string // "" for what is not known
	ownRegion       string // of this configuration
	other           bool   // another cluster's for certain
	err             error
}

// Error says what is known.
func (e *namesakeError) Error() string {
	switch {
	case e.cluster != "":
		return fmt.Sprintf("%v: it is the role of cluster %q in %s", e.err, e.cluster, cmp.Or(e.region, "an unknown region"))
	case e.region != "":
		return fmt.Sprintf("%v: it is the role of a cluster in %s", e.err, e.region)
	}
	return e.err.Error()
}

// Unwrap gives the conflict.
func (e *namesakeError) Unwrap() error { return e.err }

// remedy says what to do about it. importBlock is the configuration that adopts the role.
func (e *namesakeError) remedy(importBlock string) string {
	const one = "The existing role was not changed. An account has each name of a role once, in all regions"
	name := fmt.Sprintf("name = %q", awsspec.RegionalRoleName(e.role, e.ownRegion))
	if e.other {
		return fmt.Sprintf("%s: give this one another name, such as %s. Do not import the role: it serves the other cluster.", one, name)
	}
	return strings.Join([]string{
		one + ".",
		"If it serves another cluster, such as one of the same name in another region, give this one another name, such as " + name + ".",
		"If Karpenter has it, follow the guide From Karpenter, and back. If it belongs to this configuration, import it:",
	}, " ") + "\n\n" + importBlock
}
