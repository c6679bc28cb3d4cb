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

// version and imageDigest are set by the linker in a release. imageDigest is that of the
// daemon's image, as make image prints it.
var (
	version     = "dev"
	imageDigest string //nolint:gochecknoglobals // only the linker writes it
)

func main() {
	debug := flag.Bool("debug", false, "run so that a debugger can attach")
	flag.Parse()
	provider.LogClients()

	err := providerserver.Serve(context.Background(), provider.New(version, imageDigest), providerserver.ServeOpts{
		Address: "registry.terraform.io/karpenterd/karpenter",
		Debug:   *debug,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-karpenter:", err)
		os.Exit(1)
	}
}
