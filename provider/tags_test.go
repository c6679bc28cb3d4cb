package provider_test

import (
	"testing"
)

// TestTags_ANullTagIsNotSetAndThePlanConverges gives tags that are null, as a variable
// without a value is. P15.
func TestTags_ANullTagIsNotSetAndThePlanConverges(t *testing.T) {
	for kind, config := range map[string]object{
		"karpenter_node_role":          {"cluster_name": testCluster},
		"karpenter_controller_role":    {"cluster_name": testCluster, "node_role_arn": testNodeRole},
		"karpenter_instance_profile":   {"name": "nodes", "role": "nodes"},
		"karpenter_interruption_queue": {"cluster_name": testCluster},
	} {
		t.Run(kind, func(t *testing.T) {
			cloud := startCloud(t)
			if err := nodesRole(t.Context(), cloud); err != nil {
				t.Fatal(err)
			}
			resource := configured(t, cloud.config()).resource(kind)
			config["tags"] = object{"env": "test", "owner": nil, "team": nil}
			wantNoError(t, resource.apply(config))
			resource.settled(config)
			all := attributeOf(t, resource.state, "tags_all")
			if want := resource.h.value(all.Type(), object{"env": "test", "team": "platform"}); !all.Equal(want) {
				t.Errorf("tags_all is %s, want %s: a null tag is not set, and a default tag stays", all, want)
			}
			config["tags"] = object{"env": nil, "owner": "me"}
			wantNoError(t, resource.apply(config))
			resource.settled(config)
		})
	}
}
