module github.com/karpenterd/terraform-provider-karpenter/tools/page

go 1.26.6

require (
	github.com/evanw/esbuild v0.28.2
	github.com/karpenterd/terraform-provider-karpenter v0.0.0-00010101000000-000000000000
)

require (
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/karpenterd/terraform-provider-karpenter => ../..
