package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Version is that of the hashes. A change of what counts needs another one.
const Version = ours + "1"

// ours begins every version of the daemon's own hashes. Karpenter's are v1, v2 and so on.
const ours = "karpenterd-"

// digits is the length of the digest of one field, in hexadecimal digits.
const digits = 10

// PoolHash is the hash of the NodePool's template without its requirements.
func PoolHash(p *v1.NodePool) string {
	t := p.Spec.Template
	excluded := []string{"spec.requirements"}
	if translate.FromProvisioner(p) {
		excluded = append(excluded, "spec.expireAfter") // which counts as it is now
	}
	return hashOf(poolDefaults(), map[string]any{
		"metadata": t.ObjectMeta,
		"spec":     t.Spec,
	}, excluded...)
}

// ClassHash is the hash of the EC2NodeClass's spec without its selector terms, and without
// fields that make no difference to a node.
func ClassHash(c *awsv1.EC2NodeClass) string {
	excluded := []string{"subnetSelectorTerms", "securityGroupSelectorTerms", "capacityReservationSelectorTerms", "amiSelectorTerms"}
	for _, f := range translate.FieldsOf(awsv1.EC2NodeClassKind) {
		if f.Support == translate.Unsupported {
			excluded = append(excluded, strings.TrimPrefix(f.Path, "spec."))
		}
	}
	spec := c.Spec
	spec.AMIFamily = family.Of(c).Name() // also where it follows from an alias
	spec.Role = awsspec.RoleName(spec.Role)
	return hashOf(classDefaults(), spec, excluded...)
}

// poolDefaults are the values that mean the same as an absent field, by path. They are
// the defaults of the CRD.
func poolDefaults() map[string]any {
	return map[string]any{"spec.expireAfter": "720h0m0s"}
}

// classDefaults are the same of an EC2NodeClass. The last three are no defaults of the
// CRD, but nothing tells them from an absent field.
func classDefaults() map[string]any {
	return map[string]any{
		"amiFamily":                               "AL2023",
		"metadataOptions.httpEndpoint":            "enabled",
		"metadataOptions.httpProtocolIPv6":        "disabled",
		"metadataOptions.httpPutResponseHopLimit": 1.0,
		"metadataOptions.httpTokens":              "required",
		"detailedMonitoring":                      false,
		"kubelet.podsPerCore":                     0.0,
		"userData":                                "",
	}
}

// hashOf returns "field=digest" for each field, sorted and separated by commas. The
// fields of an object "spec" or "metadata" count as fields of their own.
func hashOf(defaults map[string]any, object any, excluded ...string) string {
	plain, _ := reduce(toPlain(object), "", defaults, excluded).(map[string]any)
	fields := map[string]any{}
	for key, value := range plain {
		if inner, ok := value.(map[string]any); ok && (key == "spec" || key == "metadata") {
			maps.Copy(fields, inner)
			continue
		}
		fields[key] = value
	}
	parts := make([]string, 0, len(fields))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		sum := sha256.Sum256(encode(fields[key]))
		parts = append(parts, key+"="+hex.EncodeToString(sum[:])[:digits])
	}
	return strings.Join(parts, ",")
}

// toPlain writes the object as on the wire, and reads it without types.
func toPlain(object any) any {
	var plain any
	if err := json.Unmarshal(encode(object), &plain); err != nil {
		panic(fmt.Errorf("hash decode: %w", err)) //nolint:forbidigo // what was just encoded
	}
	return plain
}

// reduce returns the value without what is excluded, empty or a default, and with lists
// in an order of their own; nil if nothing is left.
func reduce(value any, path string, defaults map[string]any, excluded []string) any {
	if slices.Contains(excluded, path) {
		return nil
	}
	if same, there := defaults[path]; there && reflect.DeepEqual(value, same) {
		return nil
	}
	switch x := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range x {
			if kept := reduce(inner, strings.TrimPrefix(path+"."+key, "."), defaults, excluded); kept != nil {
				out[key] = kept
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		var out []any
		for _, inner := range x {
			if kept := reduce(inner, path+"[]", defaults, excluded); kept != nil {
				out = append(out, kept)
			}
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) })
		if len(out) > 0 {
			return out
		}
	default:
		return value
	}
	return nil
}

// encode writes JSON; the keys of maps are sorted.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Errorf("hash encode: %w", err)) //nolint:forbidigo // API types and what is read from them always marshal
	}
	return data
}

// changed names the fields in which two hashes differ, sorted.
func changed(a, b string) []string {
	was, is := fieldsOf(a), fieldsOf(b)
	all := maps.Clone(was)
	maps.Copy(all, is)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(f string) bool { return was[f] == is[f] })
}

func fieldsOf(hash string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(hash, ",") {
		if field, digest, ok := strings.Cut(part, "="); ok {
			out[field] = digest
		}
	}
	return out
}
