// Package discoverytags is the resource karpenter_discovery_tags: the tag by which node classes
// find their subnets and security groups.
//
// Invariants:
//   - A tag of another cluster is never overwritten.
//   - Only tags that the resource added, and that still have their value, are removed.
package discoverytags
