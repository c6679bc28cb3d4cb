// Package session has what the provider's configuration gives to every resource: the settings,
// and the clients that are made of them.
//
// Invariants:
//   - To make a session dials nowhere. Clients are made on first use, and kept.
//   - While the configuration has unknown values, the clients that need them are ErrConfigUnknown.
//   - An account that the configuration does not allow gets no call but the one that asks who is
//     calling.
//   - The log has which calls were made and how they ended, and nothing of their contents.
package session
