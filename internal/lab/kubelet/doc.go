// Package kubelet stands in for the kubelets of the bootstrap node group: it
// runs the pods of known images as local processes from their pod spec, so
// that what is deployed is what runs. A wrong flag, image, role annotation or
// permission in a Deployment shows as it would on EKS.
//
// Carried out: command, arguments and environment with field references and
// $(VAR) expansion, projected service-account tokens (refreshed), config maps,
// secrets, the downward API and empty directories as volumes, HTTP and TCP
// probes, restarts with back-off, a log file per container, SIGTERM and, after
// the grace period, SIGKILL. A pod that asks for anything else is not started,
// and its status says why. Pods of DaemonSets are left to KWOK.
//
// The API server, and nobody else, may ask for port-forward, exec and logs, so
// kubectl has them. As with containerd, port-forward reaches what listens on the
// pod's localhost, never what listens on the pod's address alone. Exec knows one
// program in an image, by the name of the local one, and gives no terminal. Logs
// are whole or from the end, and are not followed.
//
// Two things differ from a container. Paths: there is no mount namespace, so
// where an environment value or argument names a mount path, the process sees
// the directory that stands for it. Addresses: the process knows its pod by a
// 127.x address of its own, to which it can bind; the API refuses a loopback
// address in a pod's status, so the status shows one of 10.200.0.0/16 that
// nothing answers on. There is no network namespace either: all pods would share
// 127.0.0.1, so a second 127.x address stands for the pod's localhost, and
// KARPENTERD_LOOPBACK tells processes which. The path of the in-cluster configuration is fixed in
// client-go, hence processes get a KUBECONFIG with the same token file.
//
// The stand-in talks to the API server as system:node:<name>, under the Node
// authorizer and NodeRestriction, as a kubelet does.
package kubelet
