// Package machine owns what happens on an EC2 instance after launch: it boots,
// reads its user data as nodeadm of Amazon Linux 2023 does, or as Bottlerocket where its image is one, asks for a cluster
// token with the credentials of its instance profile's role, and registers
// itself as a Node at the API server that the user data names.
//
// Nothing is taken from anywhere else: a wrong certificate authority, cluster
// name, endpoint, role or access entry keeps the machine out, and its boot log
// says which. Once registered, KWOK keeps the Node alive.
//
// A Node reports NVIDIA GPUs and Neuron devices a moment after a device plugin is ready on
// it: a pod of a DaemonSet with the image nvcr.io/nvidia/k8s-device-plugin or
// public.ecr.aws/neuron/neuron-device-plugin. Without one it has no devices to allocate.
//
// The machine's truth (memory, pods, reserved resources) is derived here from
// the hardware and nodeadm's rules, independently of any estimate. Units:
// bytes, millicores.
package machine
