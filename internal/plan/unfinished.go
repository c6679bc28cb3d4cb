package plan

import "fmt"

// UnfinishedError says that so many actions of a plan were left to the next one. What failed of
// the others is Failed; nil if nothing did.
type UnfinishedError struct {
	Left   int
	Failed error
}

func (e *UnfinishedError) Error() string {
	if e.Failed == nil {
		return fmt.Sprintf("%d actions are left to the next plan", e.Left)
	}
	return fmt.Sprintf("%d actions are left to the next plan, and others failed: %v", e.Left, e.Failed)
}

func (e *UnfinishedError) Unwrap() error { return e.Failed }
