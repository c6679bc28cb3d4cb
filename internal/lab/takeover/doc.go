// Package takeover has what Karpenter's own controller left in a laboratory (recording.json:
// its objects, their nodes, instances with their tags, launch templates), and puts it into
// another one, for tests of how the daemon takes a cluster over.
//
// The recording is written by `go test -tags lab,peer ./internal/lab/peer -run TakenOver
// -args -record FILE`. Account, names and ids in it are the simulated cloud's; managed fields
// and the lists of images of nodes are left out. Restore gives instances, networks and uids
// the ids of the laboratory that they come to, and has KWOK stand for the kubelets.
package takeover
