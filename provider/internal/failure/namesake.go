package failure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// NamesakeError says of a role that is in the way whose it is.
type NamesakeError struct {
	Role            string
	Cluster, Region string // "" for what is not known
	OwnRegion       string // of this configuration
	Other           bool   // another cluster's for certain
	Err             error
}

// Error says what is known.
func (e *NamesakeError) Error() string {
	switch {
	case e.Cluster != "":
		return fmt.Sprintf("%v: it is the role of cluster %q in %s", e.Err, e.Cluster, cmp.Or(e.Region, "an unknown region"))
	case e.Region != "":
		return fmt.Sprintf("%v: it is the role of a cluster in %s", e.Err, e.Region)
	}
	return e.Err.Error()
}

// Unwrap gives the conflict.
func (e *NamesakeError) Unwrap() error { return e.Err }

// Remedy says what to do about it. importBlock is the configuration that adopts the role.
func (e *NamesakeError) Remedy(importBlock string) string {
	const one = "The existing role was not changed. An account has each name of a role once, in all regions"
	name := fmt.Sprintf("name = %q", awsspec.RegionalRoleName(e.Role, e.OwnRegion))
	if e.Other {
		return fmt.Sprintf("%s: give this one another name, such as %s. Do not import the role: it serves the other cluster.", one, name)
	}
	return strings.Join([]string{
		one + ".",
		"If it serves another cluster, such as one of the same name in another region, give this one another name, such as " + name + ".",
		"If Karpenter has it, follow the guide From Karpenter, and back. If it belongs to this configuration, import it:",
	}, " ") + "\n\n" + importBlock
}
