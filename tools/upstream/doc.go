// Package upstream compares our definitions with Karpenter's own, by machine: every
// field, default, pattern, column and name in the schemas, every rule by what it refuses,
// the names in labels, annotations, conditions and reasons, and the user data of instances,
// read as nodeadm, the shell and Bottlerocket read it.
//
// It is a module of its own, since it pins the release of Karpenter that we are
// compatible with. To follow another release, raise the versions in go.mod: the tests then
// list what differs. A difference stays only with a reason in one of the tables here.
package upstream
