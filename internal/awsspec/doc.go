// Package awsspec has the texts and rules of the AWS resources that the product makes:
// IAM policy documents, event rules, user data, launch template contents, tags, image
// parameters, names and their limits. The provider, the daemon and the adapter share it,
// so each text exists once.
//
// Invariants: pure: it never calls AWS, and never reads a clock or the environment; equal
// input gives byte-identical text. JSON documents are compact, with sorted keys. Sizes
// are bytes unless a name says otherwise. Errors name the resource, the value and the
// remedy.
package awsspec
