// Command terraform-provider-karpenter serves the Terraform provider of
// Karpenter-compatible node provisioning on Amazon EKS.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// version is set by the linker in a release.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "run so that a debugger can attach")
	flag.Parse()

	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: "registry.terraform.io/karpenterd/karpenter",
		Debug:   *debug,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-karpenter:", err)
		os.Exit(1)
	}
}
