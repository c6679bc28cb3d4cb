//go:build lab

package provider_test

import (
	"net/http"
	"sync/atomic"
	"testing"
)

// What an import cannot read is null; the configuration has it back with an update that
// writes nothing.
func TestDaemonNeeds_AnImportLeavesThemNullAndTheNextUpdateWritesNothing(t *testing.T) {
	l := startLab(t)
	var writes atomic.Int32
	h := l.behind(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		return false
	})
	daemon, config := h.resource("karpenter_daemon"), idle(object{"needs": list{"group-1"}})
	wantNoError(t, daemon.apply(config))
	defer func() { wantNoError(t, daemon.destroy()) }()
	if writes.Swap(0) == 0 {
		t.Error("no write of the creation was seen")
	}
	imported, diags := h.imported("karpenter_daemon", "karpenter")
	wantNoError(t, diags)
	if needs := attributeOf(t, imported.state, "needs"); !needs.IsNull() {
		t.Errorf("after an import needs is %s", needs)
	}
	wantNoError(t, imported.apply(config))
	if n := writes.Load(); n > 0 {
		t.Errorf("the update wrote %d times", n)
	}
	imported.settled(config)
}
