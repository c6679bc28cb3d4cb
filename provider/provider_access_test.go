package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// with is the configuration with other attributes.
func with(config object, changes object) object {
	out := object{}
	for name, value := range config {
		out[name] = value
	}
	for name, value := range changes {
		out[name] = value
	}
	return out
}

// profileOf is a configuration of an instance profile of the role nodes, which it makes.
func (c *cloud) profileOf(t *testing.T) object {
	t.Helper()
	if _, err := c.clients.CreateRole(t.Context(), aws.Role{Name: "nodes", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	return object{"name": "nodes", "role": "nodes"}
}

// trusted makes a role that the principal may assume, with a policy that allows everything.
func (c *cloud) trusted(t *testing.T, name, principal, condition string) string {
	t.Helper()
	role, err := c.clients.CreateRole(t.Context(), aws.Role{
		Name:           name,
		TrustPolicy:    fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":%q},"Action":"sts:AssumeRole"%s}]}`, principal, condition),
		InlinePolicies: map[string]string{"all": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	return role.ARN
}

// callers are the identities that called the action.
func (c *cloud) callers(action string) []string {
	var out []string
	for _, call := range c.Calls() {
		if call.Action == action {
			out = append(out, call.Identity)
		}
	}
	return out
}

func TestAccess_RolesAreAssumedOneAfterTheOther(t *testing.T) {
	cloud := startCloud(t)
	config := cloud.profileOf(t)
	first := cloud.trusted(t, "first", "arn:aws:iam::123456789012:user/deployer", `,"Condition":{"StringEquals":{"sts:ExternalId":"us"}}`)
	second := cloud.trusted(t, "second", first, "")
	chain := func(externalID string) object {
		return with(cloud.config(), object{"assume_role": list{
			object{"role_arn": first, "session_name": "terraform", "external_id": externalID, "duration": "15m"},
			object{"role_arn": second, "session_name": "apply"},
		}})
	}
	profile := configured(t, chain("us")).resource("karpenter_instance_profile")
	wantNoError(t, profile.apply(config))
	profile.settled(config)
	if made := cloud.callers("CreateInstanceProfile"); len(made) != 1 || !strings.HasSuffix(made[0], "assumed-role/second/apply") {
		t.Errorf("the profile was made by %v", made)
	}
	refused := configured(t, chain("them")).resource("karpenter_instance_profile")
	wantError(t, refused.apply(with(config, object{"name": "other"})), "sts:AssumeRole", first, "trust policy", "external_id")
	wantNothingMade(t, refused)
}

func TestAccess_AccountsAreCheckedBeforeAnythingIsReadOrChanged(t *testing.T) {
	cloud := startCloud(t)
	config := cloud.profileOf(t)
	for name, tt := range map[string]struct {
		rule    object
		refused []string
	}{
		"allowed":       {object{"allowed_account_ids": list{"111111111111", testAccount}}, nil},
		"not forbidden": {object{"forbidden_account_ids": list{"111111111111"}}, nil},
		"not allowed":   {object{"allowed_account_ids": list{"222222222222", "111111111111"}}, []string{testAccount, "user/deployer", "allowed_account_ids is [111111111111, 222222222222]"}},
		"forbidden":     {object{"forbidden_account_ids": list{testAccount}}, []string{testAccount, "user/deployer", "forbidden_account_ids is [" + testAccount + "]"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := configured(t, with(cloud.config(), tt.rule))
			profile := h.resource("karpenter_instance_profile")
			before := len(cloud.Calls())
			if tt.refused == nil {
				config["name"] = strings.ReplaceAll(name, " ", "-")
				wantNoError(t, profile.apply(config))
				return
			}
			wantError(t, profile.apply(config), tt.refused...)
			_, diags := h.imported("karpenter_instance_profile", "allowed")
			wantError(t, diags, tt.refused...)
			tags := h.resource("karpenter_discovery_tags")
			wantError(t, tags.plan(object{"cluster_name": "lab", "subnet_ids": list{cloud.vpc.SubnetIDs[0]}}).problems, tt.refused...)
			for _, call := range cloud.Calls()[before:] {
				if call.Service != "sts" {
					t.Errorf("%s %s was called", call.Service, call.Action)
				}
			}
		})
	}
}

func TestAccess_AWebIdentityNeedsNoOtherCredentials(t *testing.T) {
	cloud := startCloud(t)
	config := cloud.profileOf(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("not.a.token"), 0o600); err != nil {
		t.Fatal(err)
	}
	profile := configured(t, with(cloud.config(), object{"assume_role_with_web_identity": object{
		"role_arn": "arn:aws:iam::123456789012:role/ci", "web_identity_token_file": token,
	}})).resource("karpenter_instance_profile")
	wantError(t, profile.apply(config), "assume_role_with_web_identity", "not a valid JWT")
	if len(cloud.callers("AssumeRoleWithWebIdentity")) == 0 {
		t.Error("STS was not asked")
	}
}

func TestPlan_AMissingRegionOrProfileIsAnError(t *testing.T) {
	cloud := startCloud(t)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	resources := map[string]object{
		"karpenter_controller_role":    {"cluster_name": "lab", "node_role_arn": "arn:aws:iam::123456789012:role/n"},
		"karpenter_node_role":          {"cluster_name": "lab"},
		"karpenter_instance_profile":   {"name": "nodes", "role": "nodes"},
		"karpenter_discovery_tags":     {"cluster_name": "lab", "subnet_ids": list{cloud.vpc.SubnetIDs[0]}},
		"karpenter_interruption_queue": {"cluster_name": "lab"},
		"karpenter_daemon":             daemonConfig(),
	}
	for name, tt := range map[string]struct {
		config object
		parts  []string
	}{
		"no region":          {object{}, []string{"no AWS region is set", "Set region in the provider's configuration, AWS_REGION"}},
		"no such profile":    {object{"region": testRegion, "profile": "prod"}, []string{`profile "prod"`, "the attribute profile", "shared_config_files"}},
		"no configuration":   {object{"region": testRegion, "shared_config_files": list{"/nonexistent"}}, []string{"shared_config_files", "/nonexistent", "Correct the path"}},
		"an unknown region":  {object{"region": unknown{}}, nil},
		"an unknown profile": {object{"region": testRegion, "profile": unknown{}}, nil},
		"an unknown role":    {object{"region": testRegion, "assume_role": list{object{"role_arn": unknown{}}}}, nil},
		"an unknown proxy":   {object{"http_proxy": unknown{}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := configured(t, tt.config)
			for kind, config := range resources {
				if kind == "karpenter_daemon" {
					delete(config, "region")
				}
				problems := h.resource(kind).plan(config).problems
				if tt.parts == nil {
					wantNoError(t, problems)
					continue
				}
				wantError(t, problems, append(tt.parts, kind)...)
			}
		})
	}
	for kind, config := range map[string]object{"karpenter_node_pool": poolConfig(nil), "karpenter_node_class": classConfig(nil)} {
		h := configured(t, object{"eks": object{"cluster_name": "lab"}})
		wantError(t, h.resource(kind).plan(config).problems, "no AWS region is set", kind)
	}
}

func TestPlan_TheEnvironmentNamesRegionAndProfile(t *testing.T) {
	cloud := startCloud(t)
	files := t.TempDir()
	configFile := filepath.Join(files, "config")
	if err := os.WriteFile(configFile, []byte("[profile west]\nregion = us-west-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", configFile)
	t.Setenv("AWS_PROFILE", "west")
	h := configured(t, object{"endpoints": cloud.config()["endpoints"]})
	wantNoError(t, h.resource("karpenter_node_role").plan(object{"cluster_name": "lab"}).problems)
	t.Setenv("AWS_PROFILE", "east")
	h = configured(t, object{"endpoints": cloud.config()["endpoints"]})
	wantError(t, h.resource("karpenter_node_role").plan(object{"cluster_name": "lab"}).problems, `"east"`, "AWS_PROFILE")
}

func TestIgnoreTags_NeitherDriftNorAreRemoved(t *testing.T) {
	cloud := startCloud(t)
	config := cloud.profileOf(t)
	before := configured(t, cloud.config()).resource("karpenter_instance_profile")
	wantNoError(t, before.apply(with(config, object{"tags": object{"cost": "1", "audit:owner": "a", "own": "x"}})))

	h := configured(t, with(cloud.config(), object{"ignore_tags": object{"keys": list{"cost"}, "key_prefixes": list{"audit:"}}}))
	profile := h.resource("karpenter_instance_profile")
	profile.state, profile.private, profile.identity = before.state, before.private, before.identity
	mine := with(config, object{"tags": object{"own": "y"}})
	// Without a refresh before it, too, the update leaves them.
	wantNoError(t, profile.apply(mine))
	profile.settled(mine)
	found, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"cost": "1", "audit:owner": "a", "own": "y", "team": "platform"} {
		if found.Tags[key] != want {
			t.Errorf("tag %s is %q, want %q", key, found.Tags[key], want)
		}
	}
	if tags := attributes(t, attributeOf(t, profile.state, "tags_all")); len(tags) != 2 {
		t.Errorf("tags_all is %v", tags)
	}
	imported, diags := h.imported("karpenter_instance_profile", "nodes")
	wantNoError(t, diags)
	if tags := attributes(t, attributeOf(t, imported.state, "tags_all")); len(tags) != 2 {
		t.Errorf("after an import tags_all is %v", tags)
	}
	wantError(t, h.resource("karpenter_instance_profile").plan(with(config, object{"tags": object{"audit:x": "y"}})).problems, "audit:x", "ignore_tags", "Remove it")
}

func TestKubernetes_IsReachedByAttributesThenEnvironmentThenFile(t *testing.T) {
	server := startAPIServer(t)
	file, nowhere := server.kubeconfig(t), "https://127.0.0.1:1"
	for name, tt := range map[string]struct {
		config object
		env    map[string]string
		token  string
	}{
		"host and token":           {object{"kubernetes": server.access(object{"token": "t"})}, nil, "Bearer t"},
		"basic authentication":     {object{"kubernetes": server.access(object{"username": "u", "password": "p"})}, nil, "Basic dTpw"},
		"file":                     {object{"kubernetes": object{"config_path": file}}, nil, "Bearer of-u"},
		"files":                    {object{"kubernetes": object{"config_paths": list{file}, "config_context": "b"}}, nil, "Bearer of-w"},
		"another user of the file": {object{"kubernetes": object{"config_path": file, "config_context_auth_info": "w"}}, nil, "Bearer of-w"},
		"token above the file":     {object{"kubernetes": object{"config_path": file, "token": "t"}}, nil, "Bearer t"},
		"a program": {object{"kubernetes": server.access(object{"exec": object{
			"api_version": "client.authentication.k8s.io/v1", "command": "sh", "env": object{"WHO": "exec"},
			"args": list{"-c", `echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"of-$WHO\"}}"`},
		}})}, nil, "Bearer of-exec"},
		"program above environment": {object{"kubernetes": server.access(object{"exec": object{
			"api_version": "client.authentication.k8s.io/v1", "command": "echo", "args": list{`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"of-echo"}}`},
		}})}, map[string]string{"KUBE_TOKEN": "e", "KUBE_USER": "u", "KUBE_PASSWORD": "p"}, "Bearer of-echo"},
		"password of the environment": {object{"kubernetes": server.access(object{"username": "u"})}, map[string]string{"KUBE_TOKEN": "e", "KUBE_PASSWORD": "p"}, "Basic dTpw"},
		"environment alone":           {object{}, map[string]string{"KUBE_HOST": server.URL, "KUBE_TOKEN": "e", "KUBE_CLUSTER_CA_CERT_DATA": server.authority()}, "Bearer e"},
		"file of the environment":     {object{}, map[string]string{"KUBE_CONFIG_PATH": file, "KUBE_CTX": "b"}, "Bearer of-w"},
		"files of the environment":    {object{}, map[string]string{"KUBE_CONFIG_PATHS": file, "KUBE_CTX_AUTH_INFO": "w"}, "Bearer of-w"},
		"attributes first":            {object{"kubernetes": server.access(object{"token": "t"})}, map[string]string{"KUBE_HOST": nowhere, "KUBE_TOKEN": "e", "KUBE_CONFIG_PATH": "/nonexistent", "KUBE_CTX": "b"}, "Bearer t"},
		"then the environment":        {object{"kubernetes": server.access(nil)}, map[string]string{"KUBE_TOKEN": "e"}, "Bearer e"},
		"environment above file":      {object{"kubernetes": object{"config_path": file}}, map[string]string{"KUBE_HOST": nowhere, "KUBE_TOKEN": "e"}, "Bearer e"},
		"authority from attributes":   {object{"kubernetes": object{"host": server.URL, "token": "t", "insecure": true}}, map[string]string{"KUBE_CLUSTER_CA_CERT_DATA": "none"}, "Bearer t"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range tt.env {
				t.Setenv(variable, value)
			}
			h := newHarness(t)
			wantNoError(t, h.validateProvider(tt.config))
			wantNoError(t, h.configure(tt.config))
			server.forget()
			_, diags := h.imported("karpenter_node_class", "default")
			wantNoError(t, diags)
			if seen := server.authorizations(); !slices.Contains(seen, tt.token) {
				t.Errorf("the API server saw %q, want %q", seen, tt.token)
			}
		})
	}
}

func TestKubernetes_AProxySeesTheRequests(t *testing.T) {
	server := startAPIServer(t)
	proxy, asked := server.tunnel(t)
	access := object{"host": "https://example.com", "cluster_ca_certificate": server.authority(), "token": "t", "proxy_url": proxy}
	_, diags := configured(t, object{"kubernetes": access}).imported("karpenter_node_class", "default")
	wantNoError(t, diags)
	if hosts := asked(); !slices.Contains(hosts, "CONNECT example.com:443") {
		t.Errorf("the proxy was asked for %q", hosts)
	}
	if seen := server.authorizations(); !slices.Contains(seen, "Bearer t") {
		t.Errorf("the API server saw %q", seen)
	}
}

func TestKubernetes_ACreationWaitsForAnAccessEntryThatIsFresh(t *testing.T) {
	server := startAPIServer(t)
	h := configured(t, object{"kubernetes": server.access(object{"token": "t"})})
	server.deny(http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable)
	class := h.resource("karpenter_node_class")
	wantNoError(t, class.apply(with(classConfig(nil), object{"wait": false})))

	// A refresh does not wait: nothing is new then.
	again := configured(t, object{"kubernetes": server.access(object{"token": "t"})}).resource("karpenter_node_class")
	again.state, again.private, again.identity = class.state, class.private, class.identity
	server.deny(http.StatusUnauthorized)
	wantError(t, again.read(), "access entry", "aws eks list-access-entries")
}

func TestCluster_AnotherOneIsRefusedOnEveryPathUntilItIsAccepted(t *testing.T) {
	server := startAPIServer(t)
	config := with(classConfig(nil), object{"wait": false})
	right := object{"kubernetes": server.access(object{"token": "t"})}
	class := configured(t, right).resource("karpenter_node_class")
	wantNoError(t, class.apply(config))
	before := *class
	at := func(config object) *instance {
		i := configured(t, config).resource("karpenter_node_class")
		i.state, i.private, i.identity = before.state, before.private, before.identity
		return i
	}
	server.recreate("22222222-2222-2222-2222-222222222222")
	server.forget()

	wrong := at(right)
	refused := []string{"another cluster", "22222222-2222", "11111111-1111", "accept_new_cluster"}
	wantError(t, wrong.read(), refused...)
	if !wrong.state.Equal(before.state) {
		t.Errorf("the state became %s", wrong.state)
	}
	wantError(t, wrong.apply(with(config, object{"tags": object{"a": "b"}})), refused...)
	wantError(t, wrong.destroy(), refused...)

	accepting := with(right, object{"accept_new_cluster": true})
	lost := at(accepting)
	diags := lost.read()
	wantNoError(t, diags)
	if !lost.state.IsNull() {
		t.Errorf("the state keeps %s", lost.state)
	}
	if len(diags) != 1 || diags[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(diags[0].Detail, "the next plan creates it") {
		t.Errorf("the user is told %v", diags)
	}
	unrefreshed := at(accepting)
	wantError(t, unrefreshed.apply(with(config, object{"tags": object{"a": "b"}})), "old cluster", "-refresh=false")
	destroyed := at(accepting)
	wantNoError(t, destroyed.destroy())
	for _, request := range server.requests() {
		if !strings.HasPrefix(request, "GET ") || strings.Contains(request, "ec2nodeclasses") {
			t.Errorf("the new cluster saw %s", request)
		}
	}
	server.empty()
	wantNoError(t, lost.apply(config))
	lost.settled(config)
}

func TestCluster_OneThatWasDeletedLetsGoIfTheNewOneIsAccepted(t *testing.T) {
	cloud, server := startCloud(t), startAPIServer(t)
	class := configured(t, object{"kubernetes": server.access(object{"token": "t"})}).resource("karpenter_node_class")
	wantNoError(t, class.apply(classConfig(object{"wait": false})))
	at := func(changes object) *instance {
		i := configured(t, with(with(cloud.config(), object{"eks": object{"cluster_name": "gone"}}), changes)).resource("karpenter_node_class")
		i.state, i.private, i.identity = class.state, class.private, class.identity
		return i
	}
	wantError(t, at(nil).read(), `eks cluster "gone"`, "accept_new_cluster")
	lost := at(object{"accept_new_cluster": true})
	wantNoError(t, lost.read())
	if !lost.state.IsNull() {
		t.Errorf("the state keeps %s", lost.state)
	}
	// Without a record of a cluster there is nothing to let go.
	_, diags := configured(t, with(cloud.config(), object{"eks": object{"cluster_name": "gone"}, "accept_new_cluster": true})).imported("karpenter_node_class", "default")
	wantError(t, diags, `eks cluster "gone"`)
}
