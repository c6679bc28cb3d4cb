// Package ownership records what resources have made or imported.
//
// Invariants:
//   - The record is in the private state of the resource, and each thing in it has an identity
//     that differs from that of another thing of the same name.
//   - What is not in the record is somebody else's: it is neither changed nor deleted. What an
//     apply that was killed has left is taken up, and the user is told.
//   - Two resources of one run never have the same thing.
package ownership
