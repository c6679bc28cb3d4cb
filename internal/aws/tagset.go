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

// Each service has a tag type of its own, with the same two members.

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

// withoutReserved drops the tags with the prefix aws:, which only AWS may set.
func withoutReserved(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if !strings.HasPrefix(k, "aws:") {
			out[k] = v
		}
	}
	return out
}

// syncTags makes the tags of an object what want says, by set and remove: each is called
// once if there is something to do. It removes only keys that prior has, because other
// tags belong to somebody else, and leaves out the keys of Config.KeepTag. Errors are those
// of set and remove.
func (c *Clients) syncTags(prior, want, actual map[string]string, set func(map[string]string) error, remove func(keys []string) error) error {
	missing := map[string]string{}
	kept := func(key string) bool { return c.keepTag != nil && c.keepTag(key) }
	for k, v := range want {
		if have, ok := actual[k]; (!ok || have != v) && !kept(k) {
			missing[k] = v
		}
	}
	var stale []string
	for k := range prior {
		_, wanted := want[k]
		if _, there := actual[k]; there && !wanted && !kept(k) {
			stale = append(stale, k)
		}
	}
	if len(missing) > 0 {
		if err := set(missing); err != nil {
			return err
		}
	}
	if len(stale) == 0 {
		return nil
	}
	slices.Sort(stale)
	return remove(stale)
}
