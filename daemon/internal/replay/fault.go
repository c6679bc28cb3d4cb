package replay

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

// Decide makes a decision, as engine.Step does.
type Decide func(engine.Input) engine.Output

// FaultError is a decision that panicked.
type FaultError struct{ Says, Stack string }

func (f *FaultError) Error() string { return "panic: " + f.Says + "\n" + f.Stack }

// Try makes the decision; the error says where it panicked.
func Try(decide Decide, in engine.Input) (out engine.Output, fault *FaultError) {
	defer func() {
		if says := recover(); says != nil {
			fault = &FaultError{fmt.Sprint(says), string(debug.Stack())}
		}
	}()
	return decide(in), nil
}

// At is the file and line that panicked; empty where the stack does not say.
func (f *FaultError) At() string {
	_, after, _ := strings.Cut(f.Stack, "\npanic(")
	for line := range strings.Lines(after) {
		place, is := strings.CutPrefix(line, "\t")
		if place, _, _ = strings.Cut(strings.TrimSpace(place), " +0x"); is && !strings.Contains(place, "/runtime/") {
			return place
		}
	}
	return ""
}
