package price

import "github.com/karpenterd/terraform-provider-karpenter/internal/quantity"

// Bulk prices in nano-dollars an hour: what a millicore and a MiB cost on EC2
// when bought in bulk ($0.032 a vCPU, $0.0034 a GiB). They order what is left
// over on hosts; what to launch is decided on the prices of the offers themselves.
const (
	BulkMilliCPU = 32_000
	BulkMiB      = 3_320
)

// Bulk returns the value of room at bulk prices, in nano-dollars an hour.
func Bulk(r quantity.Resources) int64 {
	return r.MilliCPU*BulkMilliCPU + (r.MemoryBytes>>20)*BulkMiB
}
