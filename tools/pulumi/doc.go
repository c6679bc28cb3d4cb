// Command pulumi writes the Python SDK of a Pulumi package, whose schema it reads from standard
// input, into a folder. `pulumi package add` does so by the program that runs Python, which does
// not build from Go modules; the generator is the same.
//
// The module also pins Pulumi itself, the program that runs YAML, and the Terraform bridge.
package main
