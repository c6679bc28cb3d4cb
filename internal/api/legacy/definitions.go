package legacy

import _ "embed"

// Resource names of the kinds that the daemon serves.
const (
	ResourceProvisioner     = "provisioners"
	ResourceAWSNodeTemplate = "awsnodetemplates"
)

// Category is one that the definitions here have, and those of Karpenter do not: these drop
// what the daemon writes into a status. It is seen by discovery.
const Category = "karpenterd"

var (
	//go:embed crds/karpenter.sh_provisioners.yaml
	provisionerCRD string
	//go:embed crds/karpenter.k8s.aws_awsnodetemplates.yaml
	nodeTemplateCRD string
)

// CRDs returns the CustomResourceDefinitions of Provisioner and AWSNodeTemplate, one YAML
// document each. They keep unknown fields, so that nothing of a manifest is lost before the
// daemon has looked at it.
func CRDs() [][]byte {
	return [][]byte{[]byte(provisionerCRD), []byte(nodeTemplateCRD)}
}
