package aws

import (
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	eventstypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// The services have one tag type each, with the same two members.

func ec2Tags(m map[string]string) []ec2types.Tag {
	return toTags(m, func(k, v *string) ec2types.Tag { return ec2types.Tag{Key: k, Value: v} })
}

func fromEC2Tags(ts []ec2types.Tag) map[string]string {
	return fromTags(ts, func(t ec2types.Tag) (k, v *string) { return t.Key, t.Value })
}

func iamTags(m map[string]string) []iamtypes.Tag {
	return toTags(m, func(k, v *string) iamtypes.Tag { return iamtypes.Tag{Key: k, Value: v} })
}

func fromIAMTags(ts []iamtypes.Tag) map[string]string {
	return fromTags(ts, func(t iamtypes.Tag) (k, v *string) { return t.Key, t.Value })
}

func eventsTags(m map[string]string) []eventstypes.Tag {
	return toTags(m, func(k, v *string) eventstypes.Tag { return eventstypes.Tag{Key: k, Value: v} })
}

func fromEventsTags(ts []eventstypes.Tag) map[string]string {
	return fromTags(ts, func(t eventstypes.Tag) (k, v *string) { return t.Key, t.Value })
}

func toTags[T any](m map[string]string, tag func(k, v *string) T) []T {
	var out []T
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, tag(awssdk.String(k), awssdk.String(m[k])))
	}
	return out
}

func fromTags[T any](ts []T, split func(T) (k, v *string)) map[string]string {
	m := make(map[string]string, len(ts))
	for _, t := range ts {
		k, v := split(t)
		m[awssdk.ToString(k)] = awssdk.ToString(v)
	}
	return withoutReserved(m)
}

// withoutReserved drops the tags that AWS itself sets and nobody may change.
func withoutReserved(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if !strings.HasPrefix(k, "aws:") {
			out[k] = v
		}
	}
	return out
}

// tagChanges says what takes actual to want: tags to set, and keys to remove,
// which are only those that prior had: a tag that somebody else put is theirs.
func tagChanges(prior, want, actual map[string]string) (set map[string]string, remove []string) {
	set = map[string]string{}
	for k, v := range want {
		if have, ok := actual[k]; !ok || have != v {
			set[k] = v
		}
	}
	for k := range prior {
		_, wanted := want[k]
		if _, there := actual[k]; there && !wanted {
			remove = append(remove, k)
		}
	}
	slices.Sort(remove)
	return set, remove
}
