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
	file, err := os.Open(c.auditFile())
	if err != nil {
		return nil, fmt.Errorf("audit log read: %w", err)
	}
	defer file.Close()
	agents := map[string]int{}
	for decoder := json.NewDecoder(file); ; {
		var event struct{ UserAgent string }
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last line is being written
			return agents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit log read: %w", err)
		}
		agents[event.UserAgent]++
	}
}
