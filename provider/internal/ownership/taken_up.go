package ownership

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// An apply that is killed saves neither state nor private state: nobody knows what it has
// made. The next apply takes up what equals what it would make itself, in AWS by content and
// in the cluster by the managed fields, and says so: the object may be that of another
// configuration with the same content, and then two configurations manage it. What differs
// is somebody else's.

// takenUp begins keys of a record that live during one operation only. What follows is the key
// of a thing that was taken up, and the value names the thing to the user.
const takenUp = "taken up/"

// TakeUp notes a thing that a creation which was cut off has left.
func (m Record) TakeUp(key, identity, name string) { m[key], m[takenUp+key] = identity, name }

// tookUp are the names of what was taken up, sorted.
func (m Record) tookUp() []string {
	var names []string
	for key, name := range m {
		if strings.HasPrefix(key, takenUp) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// warnTakenUp says what was taken up, and ends that it is noted.
func (m Record) warnTakenUp(diags *diag.Diagnostics) {
	if names := m.tookUp(); len(names) > 0 {
		diags.AddWarning("An apply that was cut off is continued", fmt.Sprintf(
			"%s existed already, as this configuration creates it, and the state did not know of it: an apply that was cut off has left it. "+
				"This configuration now manages it, and a destroy deletes it. If another configuration manages it, too, remove this resource from one of the two: "+
				"terraform state rm, then remove its block. Two configurations must not manage one object.", strings.Join(names, ", ")))
	}
	maps.DeleteFunc(m, func(key, _ string) bool { return strings.HasPrefix(key, takenUp) })
}

// LeaveTakenUp ends a creation that has failed after it had taken something up. What the
// creation has added stays, too: it belongs to what was taken up, and the next apply takes
// up both. It returns false if nothing was taken up.
func (m Record) LeaveTakenUp(diags *diag.Diagnostics) bool {
	names := m.tookUp()
	if len(names) == 0 {
		return false
	}
	diags.AddWarning("An apply that was cut off is not finished yet", fmt.Sprintf(
		"%s existed already, as this configuration creates it: an apply that was cut off has left it. It was not deleted, and is not in the state. "+
			"Remove the cause of the error, then apply again: the apply continues from what there is now.", strings.Join(names, ", ")))
	return true
}

// Claims are what resources of this run have made or taken up. Terraform starts the provider
// anew for each run.
type Claims struct {
	mu    sync.Mutex
	taken map[string]bool // by key and identity: whether the thing was taken up
}

// unclaimed are the keys of a record that identify nothing that a resource has for itself.
func unclaimed(key string) bool {
	return key == KeyCluster || key == KeyPrincipal || key == KeyFoundEntry || key == KeyKept ||
		strings.HasPrefix(key, KeyAttaching) || strings.HasPrefix(key, KeyAdopted) || strings.HasPrefix(key, takenUp)
}

// Claim notes what a creation has made or taken up. ErrTwice if another resource of this run
// has it, and then it notes nothing.
func (c *Claims) Claim(own Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if was, has := c.taken[key+"="+own[key]]; has && !unclaimed(key) && (was || own[takenUp+key] != "") {
			return fmt.Errorf("%s: %w", key, failure.ErrTwice)
		}
	}
	for key, identity := range own {
		if unclaimed(key) {
			continue
		}
		if c.taken == nil {
			c.taken = map[string]bool{}
		}
		c.taken[key+"="+identity] = own[takenUp+key] != ""
	}
	return nil
}

// Spare removes from own what this run has taken up for another resource: with
// create_before_destroy, the new resource takes up what the old one has if both are equal,
// and the destruction of the old one must leave it.
func (c *Claims) Spare(own Record, diags *diag.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var spared []string
	for key, identity := range own {
		if c.taken[key+"="+identity] {
			delete(own, key)
			spared = append(spared, key)
		}
	}
	if len(spared) > 0 {
		slices.Sort(spared)
		diags.AddWarning("Something was not deleted, as its replacement needs it", fmt.Sprintf(
			"%s: the new resource equals the old one, and has taken up what the old one had. Nothing was replaced.", strings.Join(spared, ", ")))
	}
}
