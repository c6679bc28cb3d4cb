// Package interruption turns the messages of the interruption queue into typed
// events, and marks the NodeClaims whose instances EC2 interrupts.
//
// Parse reads EventBridge's envelope, and is pure. Listener receives messages, hands
// their events over and deletes them. Marker writes the annotation by which the
// decision core learns of an interruption. Invariant: a message is deleted only
// after its events were handled, so that a crash loses none. Therefore an event can
// come twice. Events of foreign instances come too, because EventBridge cannot
// select by tag. Times are those in the messages.
package interruption
