// Package pulumi runs the quick start as Pulumi programs in the laboratory, by Pulumi's
// Terraform bridge: a client of the provider that nobody here wrote, with rules of its own for
// names, secrets and replacements.
//
// Pulumi, the bridge and what runs YAML are built from tools/pulumi. What runs Python does not
// build from Go modules; the Python program runs by Pulumi's Automation API, with an SDK that
// Pulumi's own generator makes. Only the build tags lab and pulumi together (make test-pulumi)
// bring this in.
package pulumi
