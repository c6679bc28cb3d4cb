package controlplane

import (
	"bytes"
	"fmt"
	"net"
	"os"
)

// attempts is how often a component is started anew because another process
// took its port first.
const attempts = 5

// freePort picks a port of 127.0.0.1 that is free now. Another process may
// take it before the component binds to it: see retryPort.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("free port find: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// lostPort says whether a component's log shows that its port was taken.
func lostPort(logFile string) bool {
	raw, err := os.ReadFile(logFile)
	return err == nil && bytes.Contains(raw, []byte("address already in use"))
}
