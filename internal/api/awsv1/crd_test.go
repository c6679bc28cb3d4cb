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

func TestEC2NodeClass_BadObjectIsRefusedByName(t *testing.T) {
	d := definition(t)
	const alias, kubelet, ebs = "alias: al2023@latest", "maxPods: 110", "{volumeSize: 1T}"
	cases := map[string]struct{ old, new, want string }{
		"role":                    {"instanceProfile:", "role: r\n  instanceProfile:", `spec.role: Invalid value: "r": creating instance profiles from a role is not supported yet: name a profile in instanceProfile`},
		"amiFamily":               {"  kubelet:", "  amiFamily: AL2023\n  kubelet:", `spec.amiFamily: Invalid value: "AL2023": the image family follows from the alias: remove the field`},
		"empty reservation term":  {"{id: cr-0a1}", "{ownerID: '123456789012'}", `every term needs tags, id or instanceMatchCriteria`},
		"reservation by two ways": {"{id: cr-0a1}", "{id: cr-0a1, ownerID: '123456789012'}", `a term with id has nothing else`},
		"malformed reservation":   {"cr-0a1", "r-1", `spec.capacityReservationSelectorTerms[1].id: Invalid value: "r-1"`},
		"reservation's criteria":  {"instanceMatchCriteria: open", "instanceMatchCriteria: closed", `spec.capacityReservationSelectorTerms[2].instanceMatchCriteria: Unsupported value: "closed"`},
		"placement group":         {"  kubelet:", "  placementGroupSelector: {name: x}\n  kubelet:", `spec.placementGroupSelector: Invalid value: placement groups are not supported yet`},
		"instance store":          {"  kubelet:", "  instanceStorePolicy: RAID0\n  kubelet:", `spec.instanceStorePolicy: Invalid value: "RAID0"`},
		"network interfaces":      {"  kubelet:", "  networkInterfaces: [{deviceIndex: 0}]\n  kubelet:", `spec.networkInterfaces: Invalid value: network interface settings`},
		"image by id":             {alias, alias + ", id: ami-1", `spec.amiSelectorTerms[0].id: Invalid value: "ami-1": images are selected by alias only`},
		"image without alias":     {"{" + alias + "}", "{}", `spec.amiSelectorTerms[0].alias: Required value`},
		"other family":            {alias, "alias: bottlerocket@latest", `spec.amiSelectorTerms[0].alias: Invalid value: "bottlerocket@latest": alias must be al2023@latest or al2023@v<release>`},
		"two images":              {alias + "}", alias + "}, {" + alias + "}", `spec.amiSelectorTerms: Too many: 2`},
		"snapshot":                {ebs, "{volumeSize: 1T, snapshotID: snap-1}", `spec.blockDeviceMappings[1].ebs.snapshotID: Invalid value: "snap-1"`},
		"volume without size":     {ebs, "{volumeType: gp3}", `spec.blockDeviceMappings[1].ebs.volumeSize: Required value`},
		"volume too large":        {ebs, "{volumeSize: 65T}", `spec.blockDeviceMappings[1].ebs.volumeSize: Invalid value: "65T"`},
		"volume of unknown type":  {"gp3", "gp4", `spec.blockDeviceMappings[0].ebs.volumeType: Unsupported value: "gp4"`},
		"two root volumes":        {"deviceName: /dev/xvdb,", "deviceName: /dev/xvdb, rootVolume: true,", `at most one mapping can have rootVolume true`},
		"clusterDNS":              {kubelet, "clusterDNS: [10.0.0.10]", `spec.kubelet.clusterDNS: Invalid value: the cluster's DNS address is found by the daemon`},
		"kubeReserved":            {kubelet, "kubeReserved: {cpu: 100m}", `spec.kubelet.kubeReserved: Invalid value: reserved resources are not supported yet`},
		"no pods":                 {kubelet, "maxPods: 0", `spec.kubelet.maxPods: Invalid value: 0`},
		"pods per core below 0":   {"podsPerCore: 10", "podsPerCore: -1", `spec.kubelet.podsPerCore: Invalid value: -1`},
		"no subnet terms":         {"[{tags: {karpenter.sh/discovery: lab}}, {id: subnet-0a1}]", "[]", `spec.subnetSelectorTerms: Invalid value: 0`},
		"empty subnet term":       {"{id: subnet-0a1}", "{}", `every term needs tags or id`},
		"subnet by id and tags":   {"{id: subnet-0a1}", "{id: subnet-0a1, tags: {a: b}}", `a term has id or tags, not both`},
		"malformed subnet id":     {"subnet-0a1", "vpc-1", `spec.subnetSelectorTerms[1].id: Invalid value: "vpc-1"`},
		"empty tag value":         {"lab}", `""}`, `a tag's key and value must not be empty`},
		"group by name and tags":  {"{name: nodes}", "{name: nodes, tags: {a: b}}", `a term has one of tags, id and name`},
		"empty group term":        {"{name: nodes}", "{}", `every term needs tags, id or name`},
		"no instance profile":     {"  instanceProfile: lab-node\n", "", `spec.instanceProfile: Required value`},
		"profile ARN":             {"lab-node", "arn:aws:iam::1:instance-profile/x", `spec.instanceProfile: Invalid value`},
		"tag of the daemon":       {"team: web", "karpenter.sh/nodepool: x", `are set by the daemon: remove the tag`},
		"cluster tag":             {"team: web", "kubernetes.io/cluster/lab: owned", `are set by the daemon: remove the tag`},
		"tag of AWS":              {"team: web", "aws:x: z", `tag keys beginning with aws: belong to AWS`},
		"tag key too long":        {"team: web", strings.Repeat("k", 129) + ": x", `a tag's key has 1 to 128 characters`},
		"unknown metadata option": {"  kubelet:", "  metadataOptions: {httpTokens: never}\n  kubelet:", `spec.metadataOptions.httpTokens: Unsupported value: "never"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(goodNodeClass, c.old, c.new, 1)
			if bad == goodNodeClass {
				t.Fatalf("%q is not in the good object", c.old)
			}
			_, pruned, errs := d.Create(t, bad)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("errors %v, want one with %q", errs, c.want)
			}
			if len(pruned) > 0 {
				t.Errorf("pruned unseen: %v", pruned)
			}
		})
	}
}

// An API server prunes a field that is not declared. So every field that
// Karpenter 1.14 has and that is not carried out must be declared.
func TestEC2NodeClass_EveryRefusedFieldIsKeptAndNamed(t *testing.T) {
	refused := strings.NewReplacer(
		"  instanceProfile: lab-node", `  role: r
  amiFamily: AL2023
  placementGroupSelector: {name: x}
  ipPrefixCount: 1
  instanceStorePolicy: RAID0
  networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]
  connectionTracking: {udpTimeout: 30}
  context: c
  cpuOptions: {nestedVirtualization: enabled}`,
		"{alias: al2023@latest}", "{id: ami-1, name: name, owner: self, ssmParameter: p, tags: {a: b}}",
		"{volumeSize: 1T}", "{snapshotID: snap-1, volumeInitializationRate: 100}",
		"{maxPods: 110, podsPerCore: 10}", `
    clusterDNS: [10.0.0.10]
    systemReserved: {cpu: 100m}
    kubeReserved: {cpu: 100m}
    evictionHard: {memory.available: 5%}
    evictionSoft: {memory.available: 10%}
    evictionSoftGracePeriod: {memory.available: 1m}
    evictionMaxPodGracePeriod: 60
    imageGCHighThresholdPercent: 85
    imageGCLowThresholdPercent: 80
    cpuCFSQuota: true`).Replace(goodNodeClass)
	stored, pruned, _ := definition(t).Create(t, refused)
	if len(pruned) > 0 {
		t.Errorf("pruned unseen: %v", pruned)
	}
	var class awsv1.EC2NodeClass
	crdtest.Into(t, stored, &class)
	want := `spec.role spec.amiFamily spec.placementGroupSelector spec.ipPrefixCount
spec.instanceStorePolicy spec.networkInterfaces spec.connectionTracking spec.context spec.cpuOptions
spec.amiSelectorTerms[0].tags spec.amiSelectorTerms[0].id spec.amiSelectorTerms[0].name spec.amiSelectorTerms[0].owner
spec.amiSelectorTerms[0].ssmParameter spec.blockDeviceMappings[1].ebs.snapshotID
spec.blockDeviceMappings[1].ebs.volumeInitializationRate spec.kubelet.clusterDNS
spec.kubelet.systemReserved spec.kubelet.kubeReserved spec.kubelet.evictionHard spec.kubelet.evictionSoft
spec.kubelet.evictionSoftGracePeriod spec.kubelet.evictionMaxPodGracePeriod spec.kubelet.imageGCHighThresholdPercent
spec.kubelet.imageGCLowThresholdPercent spec.kubelet.cpuCFSQuota`
	if got := strings.Join(class.RefusedFields(), " "); got != strings.ReplaceAll(want, "\n", " ") {
		t.Errorf("refused fields\n%s\nwant\n%s", got, want)
	}
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
