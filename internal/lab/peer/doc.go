// Package peer lets Karpenter's own AWS controller, as it is released, provision
// in the laboratory. It judges the simulated cloud and the machines by a client
// that nobody here wrote, and measures the other column of a comparison: same
// control plane, same cloud, same workload.
//
// The controller is built from tools/peer; its CRDs and its chart are read from
// the module cache when the test runs. Nothing of it is part of the product, and
// only the build tags lab and peer together (make test-peer) bring it in.
package peer
