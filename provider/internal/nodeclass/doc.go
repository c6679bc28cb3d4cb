// Package nodeclass is the resource karpenter_node_class: an EC2NodeClass.
//
// Invariants:
//   - The plan refuses what the definition or the daemon would refuse.
//   - A class to which node pools refer is not deleted.
package nodeclass
