module github.com/karpenterd/terraform-provider-karpenter/tools/release

go 1.26.6

require (
	github.com/CycloneDX/cyclonedx-go v0.9.3
	github.com/ProtonMail/go-crypto v1.4.1
	github.com/in-toto/attestation v1.2.0
	github.com/karpenterd/terraform-provider-karpenter v0.0.0-00010101000000-000000000000
	google.golang.org/protobuf v1.36.12
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/cloudflare/circl v1.6.3 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/karpenterd/terraform-provider-karpenter => ../..
