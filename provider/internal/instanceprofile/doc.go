// Package instanceprofile is the resource karpenter_instance_profile: the instance profile by
// which instances get the node role.
//
// Invariant: the profile is deleted only when no instance has it.
package instanceprofile
