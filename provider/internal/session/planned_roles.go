package session

import (
	"sync"
)

// plannedRoles are the controller roles that have been planned, by their ARN. Terraform plans a
// daemon that refers to a role after that role. It is safe for concurrent use.
type plannedRoles struct {
	mu sync.Mutex
	of map[string]PlannedRole
}

// PlannedRole is what a daemon depends on of a controller role.
type PlannedRole struct {
	Name                               string
	Cluster, Namespace, ServiceAccount string // of the service account that the role trusts
	ByPodIdentity                      bool
}

// Note keeps the plan of a role.
func (t *plannedRoles) Note(arn string, role PlannedRole) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]PlannedRole{}
	}
	t.of[arn] = role
}

// Role gives the plan of the role with the ARN.
func (t *plannedRoles) Role(arn string) (PlannedRole, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	role, found := t.of[arn]
	return role, found
}
