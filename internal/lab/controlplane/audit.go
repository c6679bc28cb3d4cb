package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func (c *ControlPlane) auditFile() string { return filepath.Join(c.options.Dir, "logs", "audit.log") }

// AdminUserAgents counts the requests made with the administrator's token by
// the user agent that made them. Everybody but the launcher has an identity of
// its own, so only the launcher may be named here.
func (c *ControlPlane) AdminUserAgents() (map[string]int, error) {
	agents := map[string]int{}
	return agents, c.audited(adminUser, func(e auditEvent) { agents[e.UserAgent]++ })
}

// Request is what somebody asked of the API server. Resource is empty for a path that is no
// resource.
type Request struct{ Verb, Group, Resource, Subresource string }

// RequestsOf has the requests that a service account has made, each once. Those of kube-system
// are not noted.
func (c *ControlPlane) RequestsOf(namespace, account string) (map[Request]bool, error) {
	requests := map[Request]bool{}
	return requests, c.audited("system:serviceaccount:"+namespace+":"+account, func(e auditEvent) {
		requests[Request{e.Verb, e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource}] = true
	})
}

type auditEvent struct {
	Verb, UserAgent string
	User            struct{ Username string }
	ObjectRef       struct{ APIGroup, Resource, Subresource string }
}

// audited hands on each event of a user.
func (c *ControlPlane) audited(user string, see func(auditEvent)) error {
	file, err := os.Open(c.auditFile())
	if err != nil {
		return fmt.Errorf("audit log read: %w", err)
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var event auditEvent
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last line is being written
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit log read: %w", err)
		}
		if event.User.Username == user {
			see(event)
		}
	}
}
