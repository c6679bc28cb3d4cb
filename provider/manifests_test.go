package provider_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install/values"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// Who installs the daemon by manifests or by the chart gets the objects that Terraform applies.
func TestDaemon_PlansTheObjectsOfTheManifests(t *testing.T) {
	const needed = "settings: {clusterName: lab, region: us-west-2}\nserviceAccount: {roleARN: \"arn:aws:iam::123456789012:role/karpenter\"}"
	for name, c := range map[string]struct {
		attributes object
		values     string
		namespace  string
	}{
		"by default": {nil, "{}", "karpenter"},
		"with every option": {everyOption(), `
settings: {clusterName: other, clusterEndpoint: https://10.0.0.1, interruptionQueue: events, region: eu-west-1, preferencePolicy: Ignore, landing: prefer,
  minValuesPolicy: BestEffort, nodeCost: "0.02", schedulerConfig: "podTopologySpread: {}", pauseDisruption: true,
  reservedENIs: 1, vmMemoryOverheadPercent: "0.05", isolatedVPC: true, useFIPSEndpoint: true, useDualStackEndpoint: true, clusterCABundle: ` + authority + `}
mode: shadow
logLevel: debug
logKeys: hclog
serviceAccount: {name: launcher, roleARN: "arn:aws:iam::123456789012:role/other"}
controller: {metrics: {port: 9090}, healthProbe: {port: 9091}, environment: {GOMEMLIMIT: 1GiB}, resources: {requests: {cpu: "1", memory: null}, limits: {memory: 2Gi}}}
imagePullPolicy: Always
imagePullSecrets: [{name: mirror}]
replicas: 3
priorityClassName: ""
additionalLabels: {team: a}
additionalAnnotations: {team: a}
podLabels: {team: a}
podAnnotations: {team: a}
tolerations: []
nodeSelector: {a: b}
affinity: {podAntiAffinity: {}}
podDisruptionBudget: {enabled: false}
metricsNamespaces: [monitoring]
definitions: {legacy: true}`, "nodes"},
		"with a budget": {
			object{"pod_disruption_budget": object{"min_available": "50%"}, "image": object{"registry": "mirror.example.com"}},
			"podDisruptionBudget: {minAvailable: 50%}\ncontroller: {image: {repository: mirror.example.com/karpenterd/karpenterd}}", "karpenter",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := values.Read([]byte(needed), []byte(c.values))
			if err != nil {
				t.Fatal(err)
			}
			objects, err := v.Objects(c.namespace, install.BuildImage("1.2.3", releaseDigest))
			if err != nil {
				t.Fatal(err)
			}
			got, want := map[string]string{}, plannedObjects(t, c.attributes)
			for _, o := range objects {
				text, err := json.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				sum := sha256.Sum256(text)
				got[kube.RefOf(o).String()] = hex.EncodeToString(sum[:6])
			}
			if !maps.Equal(got, want) {
				t.Errorf("manifests\n%v, and the plan has\n%v", got, want)
			}
		})
	}
}

// Who writes IAM by other means gets from the command iam-policy what the provider makes.
func TestResources_MakeTheDocumentsOfIAMPolicy(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	document := map[string]string{}
	for _, d := range awsspec.Documents(awsspec.Installation{
		Partition: "aws", Region: testRegion, Account: testAccount, Cluster: testCluster, NodeRoleARNs: []string{testNodeRole}, QueueName: testCluster,
		Issuer: "https://" + testIssuer, Namespace: "karpenter", ServiceAccount: "karpenter",
	}) {
		document[d.Name] = d.Text
	}
	same := func(name, made string) {
		t.Helper()
		if !aws.SamePolicy(made, document[name]) {
			t.Errorf("%s is %s, and the provider makes %s", name, document[name], made)
		}
		delete(document, name)
	}
	made := func(kind string, config object) *instance {
		t.Helper()
		i := h.resource(kind)
		wantNoError(t, i.apply(config))
		return i
	}
	queue := made("karpenter_interruption_queue", object{"cluster_name": testCluster})
	same(awsspec.QueuePolicyDocument, queue.text("policy"))
	var rules []struct {
		Name    string
		Pattern json.RawMessage
	}
	if err := json.Unmarshal([]byte(document[awsspec.EventRulesDocument]), &rules); err != nil {
		t.Fatal(err)
	}
	patterns := textMap(t, queue, "rules")
	for _, r := range rules {
		if !aws.SameJSON(patterns[r.Name], string(r.Pattern)) {
			t.Errorf("rule %s is %s, and the provider makes %s", r.Name, r.Pattern, patterns[r.Name])
		}
	}
	if len(rules) != len(patterns) {
		t.Errorf("%d rules, and the provider makes %d", len(rules), len(patterns))
	}
	delete(document, awsspec.EventRulesDocument)

	node := made("karpenter_node_role", object{"cluster_name": testCluster})
	same(awsspec.NodeTrustDocument, node.text("trust_policy"))
	found, err := cloud.clients.GetRole(t.Context(), awsspec.NodeRoleName(testCluster))
	if err != nil {
		t.Fatal(err)
	}
	var managed []string
	if err := json.Unmarshal([]byte(document[awsspec.NodePoliciesDocument]), &managed); err != nil || !slices.Equal(managed, found.ManagedPolicies) {
		t.Errorf("managed policies %v, and the provider attaches %v (%v)", managed, found.ManagedPolicies, err)
	}
	delete(document, awsspec.NodePoliciesDocument)

	config := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "queue_arn": queue.text("arn")}
	controller := made("karpenter_controller_role", config)
	same(awsspec.IRSATrustDocument, controller.text("trust_policy"))
	policies := textMap(t, controller, "policies")
	for _, p := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{Region: testRegion, Cluster: testCluster, QueueARN: "any"}) {
		same(awsspec.ControllerDocument+p.Kind, policies[p.Name])
		delete(policies, p.Name)
	}
	if len(policies) > 0 {
		t.Errorf("the provider makes these, too: %v", policies)
	}
	config["identity"] = "pod_identity"
	wantNoError(t, controller.apply(config))
	same(awsspec.PodIdentityTrustDocument, controller.text("trust_policy"))
	delete(document, awsspec.ShadowDocument) // a shadow does without a role, and who gives it one makes it
	if len(document) > 0 {
		t.Errorf("the provider does not make %v", slices.Collect(maps.Keys(document)))
	}
}

// textMap is an attribute that is a map of texts.
func textMap(t *testing.T, i *instance, attribute string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, value := range attributes(t, attributeOf(t, i.state, attribute)) {
		var text string
		if err := value.As(&text); err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	return out
}
