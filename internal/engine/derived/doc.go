// Package derived owns what follows from parts of the snapshot that seldom change, and is
// kept from Step to Step so that it is not worked out again. No plan depends on it.
package derived
