// Command chart writes the Helm chart of the daemon. The chart's templates are the objects of package
// install, rendered with markers for options: each marker is replaced by the expression of its value. What
// Helm computes that install computes too (labels that are merged, the affinity, the checksum) is
// in helpers.tpl; a test holds the chart to what install renders for the same values.
//
// In the tree, the chart has version 0.0.0-dev and names no image. A release is written with
// its version and the digest of its image.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// devVersion is that of a chart which is no release.
const devVersion = "0.0.0-dev"

func main() {
	out := flag.String("out", "daemon/chart", "folder of the chart; what it held is removed")
	version := flag.String("version", devVersion, "version of the chart and of the daemon, such as 1.0.0")
	digest := flag.String("digest", "", "digest of the daemon's image, as make image prints it")
	flag.Parse()
	if err := write(*out, *version, *digest); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func write(out, version, digest string) error {
	if digest != "" {
		if err := install.CheckDigest(digest); err != nil {
			return fmt.Errorf("flag digest: %w", err)
		}
	}
	files, err := chart(version, digest)
	if err != nil {
		return err
	}
	return replace(out, files)
}
