package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/karpenter-provider-aws/pkg/apis"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// kind is a kind with both definitions, as YAML.
type kind struct {
	name         string
	ours, theirs []byte
}

// kinds are those of the API that both serve. Karpenter's are those that its AWS provider
// installs: they have the rules on labels of AWS, which the core's definitions lack.
func kinds() []kind {
	claims, pools := v1.CRDs()[0], v1.CRDs()[1]
	return []kind{
		{v1.NodePoolKind, pools, apis.NodePoolCRD},
		{v1.NodeClaimKind, claims, apis.NodeClaimCRD},
		{awsv1.EC2NodeClassKind, awsv1.CRDs()[0], apis.EC2NodeClassCRD},
	}
}

// difference is one that stays, with the reason. Its place is a kind, a path and an
// attribute.
type difference struct{ place, reason string }

func differences() []difference {
	const (
		byMinLength = "Karpenter refuses the empty text by a rule, we by the schema"
		conditions  = "NodeClaims of old releases have conditions without reason and message, and one type serves all kinds; the daemon writes both"
		noEffect    = "Karpenter has this on the list, where it has no effect; what is no label value makes the NodePool not ready"
		anyField    = "Karpenter says of each value what is said of the object: any is kept"
	)
	out := []difference{
		{"NodePool spec.template.spec.requirements[].values maxLength", noEffect},
		{"NodePool spec.template.spec.requirements[].values pattern", noEffect},
		{"NodeClaim spec.requirements[].values maxLength", noEffect},
		{"NodeClaim spec.requirements[].values pattern", noEffect},
		{"EC2NodeClass spec.kubelet{} x-kubernetes-preserve-unknown-fields", anyField},
		{"EC2NodeClass spec.instanceProfile minLength", byMinLength},
		{"EC2NodeClass spec.role minLength", byMinLength},
		{"EC2NodeClass spec.blockDeviceMappings[].ebs.volumeSize pattern", "Karpenter's takes a unit without a number, and leaves out sizes such as 18Ti"},
		{"EC2NodeClass status.subnets[].publicIPs type", "our own field: without it the price of public addresses is not known"},
	}
	for _, name := range []string{"group", "kind", "name"} {
		out = append(out,
			difference{"NodePool spec.template.spec.nodeClassRef." + name + " minLength", byMinLength},
			difference{"NodeClaim spec.nodeClassRef." + name + " minLength", byMinLength})
	}
	for _, k := range []string{"NodePool", "EC2NodeClass"} {
		for _, at := range []string{" required", ".reason minLength", ".reason pattern"} {
			out = append(out, difference{k + " status.conditions[]" + at, conditions})
		}
	}
	return out
}

func TestDefinitions_NoDifferenceFromKarpentersWithoutAReason(t *testing.T) {
	reasons := map[string]string{}
	for _, d := range differences() {
		reasons[d.place] = d.reason
	}
	compared := 0
	for _, k := range kinds() {
		ours, theirs := attributes(t, k.ours), attributes(t, k.theirs)
		compared += len(theirs)
		all := maps.Clone(ours)
		maps.Copy(all, theirs)
		for _, at := range slices.Sorted(maps.Keys(all)) {
			place := k.name + " " + at
			_, known := reasons[place]
			switch same := ours[at] == theirs[at]; {
			case !same && !known:
				t.Errorf("%s: ours %q, Karpenter's %q", place, ours[at], theirs[at])
			case same && known:
				t.Errorf("%s: no longer differs: take it out of the table", place)
			}
			delete(reasons, place)
		}
	}
	for place := range reasons {
		t.Errorf("%s: in the table, and in neither definition", place)
	}
	if compared < 450 {
		t.Errorf("compared %d attributes: the test looks at the wrong place", compared)
	}
	t.Logf("%d attributes compared, %d differ for a reason", compared, len(differences()))
}

// attributes are what a definition says, without descriptions and rules: "<path>
// <attribute>" with the value as JSON.
func attributes(t *testing.T, document []byte) map[string]string {
	t.Helper()
	var crd map[string]any
	if err := yaml.Unmarshal(document, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd["spec"].(map[string]any)
	versions := spec["versions"].([]any)
	delete(spec, "versions")
	out := map[string]string{}
	for name, value := range spec {
		out[". "+name] = text(t, value)
	}
	for _, v := range versions {
		version := v.(map[string]any)
		columns, _ := version["additionalPrinterColumns"].([]any)
		for i, c := range columns {
			out[fmt.Sprintf(". column %d", i)] = text(t, c)
		}
		schema := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		delete(version, "schema")
		delete(version, "additionalPrinterColumns")
		for name, value := range version {
			out[fmt.Sprintf(". version %v %s", version["name"], name)] = text(t, value)
		}
		flatten(t, "", schema, out)
	}
	return out
}

func flatten(t *testing.T, path string, schema map[string]any, out map[string]string) {
	t.Helper()
	for name, value := range schema {
		inner, _ := value.(map[string]any)
		switch name {
		case "description", "x-kubernetes-validations":
		case "properties":
			for field, s := range inner {
				flatten(t, strings.TrimPrefix(path+"."+field, "."), s.(map[string]any), out)
			}
		case "items":
			flatten(t, path+"[]", inner, out)
		case "additionalProperties":
			flatten(t, path+"{}", inner, out)
		case "enum", "required":
			values := value.([]any)
			slices.SortFunc(values, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			out[path+" "+name] = text(t, values)
		default:
			out[path+" "+name] = text(t, value)
		}
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
