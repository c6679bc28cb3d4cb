package legacy_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// Nothing of a manifest may be lost before the daemon has looked at it.
func TestDefinitions_KeepFieldsThatNobodyKnows(t *testing.T) {
	for i, head := range []string{
		"{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner", "{apiVersion: karpenter.k8s.aws/v1alpha1, kind: AWSNodeTemplate",
	} {
		document := head + ", metadata: {name: a}, spec: {unknown: {deeper: [1]}}, status: {nodeClass: {subnets: [{id: subnet-1}]}}}"
		stored, pruned, errs := crdtest.Parse(t, legacy.CRDs()[i]).Create(t, document)
		if spec, _ := stored["spec"].(map[string]any); len(errs) > 0 || len(pruned) > 0 || spec["unknown"] == nil {
			t.Errorf("stored %v, dropped %v, errors %v", stored, pruned, errs)
		}
	}
}
