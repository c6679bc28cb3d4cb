// Package interruption turns the messages of the interruption queue into typed
// events and marks the NodeClaims whose instances go.
//
// It owns the reading of EventBridge's envelope (Parse, which is pure), the loop
// that receives, hands over and deletes (Listener), and the annotation by which
// the core learns of it (Marker). Invariant: a message is
// deleted only after its events were taken, so that a crash loses none; an event
// can therefore come twice, and those of foreign instances come too, because
// EventBridge cannot select by tag. Times are the cloud's.
package interruption
