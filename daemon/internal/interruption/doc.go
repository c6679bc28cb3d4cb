// Package interruption turns the messages of the interruption queue into typed
// events and hands them on.
//
// It owns the reading of EventBridge's envelope (Parse, which is pure) and the
// loop that receives, hands over and deletes (Listener). Invariant: a message is
// deleted only after its events were taken, so that a crash loses none; an event
// can therefore come twice, and those of foreign instances come too, because
// EventBridge cannot select by tag. Times are the cloud's.
package interruption
