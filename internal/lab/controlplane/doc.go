// Package controlplane owns a real Kubernetes control plane on this machine:
// etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK, each
// a child process on a free port of 127.0.0.1.
//
// Every component has an identity of its own: a client certificate of the
// laboratory's authority. The administrator's token stays in Admin and the
// admin kubeconfig, for whoever launched the laboratory; nothing that the
// laboratory starts is given it.
package controlplane
