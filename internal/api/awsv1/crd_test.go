package awsv1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
)

const goodNodeClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: lab}}, {id: subnet-0a1}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "*"}}, {id: sg-0a1}, {name: nodes}]
  capacityReservationSelectorTerms: [{tags: {team: "*"}}, {id: cr-0a1}, {instanceMatchCriteria: open, ownerID: "123456789012"}]
  amiSelectorTerms: [{alias: al2023@latest}]
  instanceProfile: lab-node
  tags: {team: web}
  blockDeviceMappings:
  - {deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 100Gi, volumeType: gp3, encrypted: true, iops: 3000, throughput: 125}}
  - {deviceName: /dev/xvdb, ebs: {volumeSize: 1T}}
  userData: "echo hello"
  detailedMonitoring: true
  associatePublicIPAddress: false
  kubelet: {maxPods: 110, podsPerCore: 10}
`

func definition(t *testing.T) *crdtest.Definition {
	t.Helper()
	return crdtest.Parse(t, awsv1.CRDs()[0])
}

func TestCRD_NamesAreKarpenters(t *testing.T) {
	spec := definition(t).CRD.Spec
	if version := spec.Versions[0]; spec.Group != awsv1.Group || len(spec.Versions) != 1 || version.Name != awsv1.Version || !version.Served || !version.Storage {
		t.Errorf("group %s, versions %+v", spec.Group, spec.Versions)
	}
	names := spec.Names
	if names.Kind != awsv1.EC2NodeClassKind || names.Plural != awsv1.EC2NodeClassResource ||
		strings.Join(names.ShortNames, " ") != "ec2nc ec2ncs" || strings.Join(names.Categories, " ") != "karpenter" {
		t.Errorf("names %+v", names)
	}
}

func TestEC2NodeClass_GoodObjectIsKeptWholeAndDefaulted(t *testing.T) {
	stored, pruned, errs := definition(t).Create(t, goodNodeClass)
	if len(errs) > 0 || len(pruned) > 0 {
		t.Fatalf("errors %v, pruned %v", errs, pruned)
	}
	var class awsv1.EC2NodeClass
	crdtest.Into(t, stored, &class)
	o := class.Spec.MetadataOptions
	if o == nil || *o.HTTPEndpoint != "enabled" || *o.HTTPProtocolIPv6 != "disabled" || *o.HTTPPutResponseHopLimit != 1 || *o.HTTPTokens != "required" {
		t.Errorf("default metadata options %+v", o)
	}
	if got := class.Spec.BlockDeviceMappings[1].EBS.VolumeSize.Value(); got != 1e12 {
		t.Errorf("volume size %d, want 1T", got)
	}
	partial := strings.Replace(goodNodeClass, "  kubelet:", "  metadataOptions: {httpPutResponseHopLimit: 2}\n  kubelet:", 1)
	stored, _, _ = definition(t).Create(t, partial)
	var second awsv1.EC2NodeClass
	crdtest.Into(t, stored, &second)
	if o := second.Spec.MetadataOptions; *o.HTTPPutResponseHopLimit != 2 || *o.HTTPTokens != "required" {
		t.Errorf("partial metadata options become %+v", o)
	}
}

func TestCases_KarpentersObjectsAreAcceptedAndItsErrorsRefusedByName(t *testing.T) {
	crdtest.Run(t, definition(t))
}

func TestAddToScheme_KnowsKindAndList(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := awsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"EC2NodeClass", "EC2NodeClassList"} {
		if !scheme.Recognizes(awsv1.GroupVersion().WithKind(kind)) {
			t.Errorf("scheme does not know %s", kind)
		}
	}
}
