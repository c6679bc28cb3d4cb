// Package lab is the laboratory: a real Kubernetes control plane, a simulated
// AWS account and simulated machines on one Linux computer, for development
// and tests. No cloud account, container runtime or network is needed.
//
// Start brings up, in this order: the simulated AWS (awssim), the control
// plane (controlplane), what an EKS cluster has from the beginning (access
// policies, pod identity webhook, kube-dns), the cloud controller (cloudctl),
// the machines behind EC2 (machine) and the bootstrap node group whose pods
// run as local processes (kubelet).
//
// Time is real unless Options.TimeFactor says that it goes faster, in the laboratory
// and in the daemon alike. Nodes fail when they are told to: StopKubelet, HangKubelet
// and ResumeKubelet, and machine.NeverBoots for machines that never join.
//
// Every identity is real inside the laboratory. The administrator's token is
// for whoever started it; Terraform comes in as the IAM user Deployer, the
// daemon by its service account's role, machines by their node role. Close
// leaves no process and no file; what a crash leaves, the next Start sweeps.
package lab
