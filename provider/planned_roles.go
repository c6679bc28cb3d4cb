package provider

import (
	"sync"
)

// plannedRoles are the controller roles that have been planned, by their ARN. Terraform plans a
// daemon that refers to a role after that role. It is safe for concurrent use.
type plannedRoles struct {
	mu sync.Mutex
	of map[string]plannedRole
}

// plannedRole is what a daemon depends on of a controller role.
type plannedRole struct {
	name                               string
	cluster, namespace, serviceAccount string // of the service account that the role trusts
	byPodIdentity                      bool
}

// note keeps the plan of a role.
func (t *plannedRoles) note(arn string, role plannedRole) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]plannedRole{}
	}
	t.of[arn] = role
}

// role gives the plan of the role with the ARN.
func (t *plannedRoles) role(arn string) (plannedRole, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	role, found := t.of[arn]
	return role, found
}
