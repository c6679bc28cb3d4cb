package provider_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// somePEM is a text that looks like a certificate.
const somePEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// badProvider is a configuration of the provider, with where the error is and all that it
// says.
type badProvider struct {
	config   object
	at, says string
}

//archtest:allow-long a table
func badProviders() map[string]badProvider {
	host := func(more object) object { return object{"kubernetes": with(object{"host": "https://a"}, more)} }
	file := func(more object) object { return object{"kubernetes": with(object{"config_path": "b"}, more)} }
	role := func(more object) object {
		return object{"assume_role": list{with(object{"role_arn": "arn:aws:iam::123456789012:role/r"}, more)}}
	}
	web := func(more object) object { return object{"assume_role_with_web_identity": more} }
	const arn = "arn:aws:iam::123456789012:role/r"
	return map[string]badProvider{
		"unknown region": {
			object{"region": "us-esat-1"},
			"region",
			`region: "us-esat-1" is not an AWS region that this version of the provider knows; did you mean "us-east-1"? If the region is newer than this version, set skip_region_validation = true.`,
		},
		"unknown region of STS": {
			object{"sts_region": "us-esat-1"},
			"sts_region",
			`sts_region: "us-esat-1" is not an AWS region that this version of the provider knows; did you mean "us-east-1"? If the region is newer than this version, set skip_region_validation = true.`,
		},
		"key without secret": {
			object{"access_key": "AKIA"},
			"access_key",
			"access_key is set without secret_key. Set both.",
		},
		"secret without key": {
			object{"secret_key": "s"},
			"secret_key",
			"secret_key is set without access_key. Set both.",
		},
		"token without key": {
			object{"token": "t"},
			"token",
			"token is set without access_key. Set both.",
		},
		"key and web identity": {
			with(object{"access_key": "AKIA", "secret_key": "s"}, web(object{"role_arn": arn, "web_identity_token": "t"})), "access_key",
			"access_key and assume_role_with_web_identity are both set: keep one; the role is assumed with the token alone.",
		},
		"allowed and forbidden": {
			object{"allowed_account_ids": list{"123456789012"}, "forbidden_account_ids": list{"123456789012"}},
			"allowed_account_ids",
			"allowed_account_ids and forbidden_account_ids are both set: keep one; with allowed_account_ids, every other account is forbidden.",
		},
		"account too short": {
			object{"allowed_account_ids": list{"12345"}},
			"allowed_account_ids[...]",
			`allowed_account_ids[Value("12345")]: "12345" is not valid: an AWS account id has twelve digits, such as 123456789012.`,
		},
		"no account": {
			object{"allowed_account_ids": list{}},
			"allowed_account_ids",
			"Attribute allowed_account_ids set must contain at least 1 elements, got: 0",
		},
		"role is a user": {
			role(object{"role_arn": "arn:aws:iam::123456789012:user/u"}), "assume_role[0].role_arn",
			`assume_role[0].role_arn: "arn:aws:iam::123456789012:user/u" is not valid: write an ARN like arn:aws:iam:...:role/....`,
		},
		"session too short": {
			role(object{"duration": "5m"}), "assume_role[0].duration",
			`assume_role[0].duration: "5m" is not a duration from 15m to 12h: write one such as 30m.`,
		},
		"session without a unit": {
			role(object{"duration": "3600"}), "assume_role[0].duration",
			`assume_role[0].duration: "3600" is not a duration from 15m to 12h: write one such as 30m.`,
		},
		"session name with a slash": {
			role(object{"session_name": "a/b"}), "assume_role[0].session_name",
			`assume_role[0].session_name: "a/b" is not valid: write 2 to 64 letters, digits and characters of =,.@_-+.`,
		},
		"policy is no JSON": {
			role(object{"policy": "Allow"}), "assume_role[0].policy",
			"assume_role[0].policy: the text is not a JSON object (invalid character 'A' looking for beginning of value): write it with jsonencode.",
		},
		"transitive key of no tag": {
			role(object{"transitive_tag_keys": list{"team"}}), "assume_role[0].transitive_tag_keys",
			`assume_role[0].transitive_tag_keys has "team", and assume_role[0].tags has no such key. Add the tag, or remove the key.`,
		},
		"web identity without a role": {
			web(object{"web_identity_token": "t"}), "assume_role_with_web_identity.role_arn",
			"assume_role_with_web_identity.role_arn is not set, nor is AWS_ROLE_ARN in the environment. Set one to the ARN of the role.",
		},
		"web identity without token": {
			web(object{"role_arn": arn}), "assume_role_with_web_identity",
			"assume_role_with_web_identity has neither web_identity_token nor web_identity_token_file, and AWS_WEB_IDENTITY_TOKEN_FILE is not set in the environment. Set one of the three.",
		},
		"token and its file": {
			web(object{"role_arn": arn, "web_identity_token": "t", "web_identity_token_file": "f"}), "assume_role_with_web_identity.web_identity_token",
			"assume_role_with_web_identity.web_identity_token and assume_role_with_web_identity.web_identity_token_file are both set: keep one.",
		},
		"no attempt": {
			object{"max_retries": 0},
			"max_retries",
			"Attribute max_retries value must be at least 1, got: 0",
		},
		"retry mode": {
			object{"retry_mode": "eager"},
			"retry_mode",
			`Attribute retry_mode value must be one of: ["standard" "adaptive"], got: "eager"`,
		},
		"proxy without a scheme": {
			object{"http_proxy": "proxy:3128"},
			"http_proxy",
			`http_proxy: "proxy:3128" is not a URL with one of the schemes http, https, socks5: write one such as http://example.com:8080.`,
		},
		"endpoint without a scheme": {
			object{"endpoints": object{"ec2": "vpce.example.com"}},
			"endpoints.ec2",
			`endpoints.ec2: "vpce.example.com" is not a URL with one of the schemes http, https: write one such as http://example.com:8080.`,
		},
		"default tag that is ignored": {
			object{"default_tags": object{"tags": object{"cost:a": "1"}}, "ignore_tags": object{"key_prefixes": list{"cost:"}}},
			`default_tags.tags["cost:a"]`,
			`default_tags.tags has "cost:a", which ignore_tags says to leave alone. Remove it from one of the two.`,
		},
		"empty prefix": {
			object{"ignore_tags": object{"key_prefixes": list{""}}},
			"ignore_tags.key_prefixes[...]",
			`Attribute ignore_tags.key_prefixes[Value("")] string length must be at least 1, got: 0`,
		},
		"cluster name": {
			object{"eks": object{"cluster_name": "a b"}},
			"eks.cluster_name",
			`eks.cluster_name: cluster name "a b": must consist of letters, digits, - and _, beginning with a letter or digit.`,
		},
		"two clusters": {
			object{"eks": object{"cluster_name": "a"}, "kubernetes": object{"host": "https://a"}},
			"kubernetes",
			"eks and kubernetes are both set. Keep one: eks reaches an EKS cluster with the provider's AWS credentials; kubernetes reaches a cluster by address and credentials, or by a kubeconfig file.",
		},
		"host and file": {
			host(object{"config_path": "b"}), "kubernetes.host",
			"kubernetes.host and kubernetes.config_path are both set: keep either the address or the kubeconfig file.",
		},
		"host and files": {
			host(object{"config_paths": list{"b"}}), "kubernetes.host",
			"kubernetes.host and kubernetes.config_paths are both set: keep either the address or the kubeconfig files.",
		},
		"file and files": {
			file(object{"config_paths": list{"b"}}), "kubernetes.config_path",
			"kubernetes.config_path and kubernetes.config_paths are both set: keep one; config_paths may have one path.",
		},
		"neither host nor file": {
			object{"kubernetes": object{"token": "t"}},
			"kubernetes",
			"kubernetes has none of host, config_path and config_paths, and KUBE_HOST, KUBE_CONFIG_PATH and KUBE_CONFIG_PATHS are not set in the environment. Set kubernetes.host and credentials, or set kubernetes.config_path.",
		},
		"host without a scheme": {
			object{"kubernetes": object{"host": "10.0.0.1:6443"}},
			"kubernetes.host",
			`kubernetes.host is "10.0.0.1:6443", which is not a URL with a scheme (https, http) and a host. Write one such as https://10.0.0.1:6443.`,
		},
		"certificate without key": {
			host(object{"client_certificate": somePEM}), "kubernetes.client_certificate",
			"kubernetes.client_certificate is set without kubernetes.client_key. Set both.",
		},
		"user without password": {
			host(object{"username": "u"}), "kubernetes.username",
			"kubernetes.username is set without kubernetes.password. Set both.",
		},
		"token and user": {
			host(object{"token": "t", "username": "u", "password": "p"}), "kubernetes.token",
			"kubernetes.token and kubernetes.username are both set: keep one way to prove who the provider is.",
		},
		"program and token": {
			host(object{"token": "t", "exec": object{"api_version": "client.authentication.k8s.io/v1", "command": "aws"}}), "kubernetes.exec",
			"kubernetes.exec and kubernetes.token are both set: keep one way to prove who the provider is.",
		},
		"program of an old version": {
			host(object{"exec": object{"api_version": "client.authentication.k8s.io/v1alpha1", "command": "aws"}}), "kubernetes.exec.api_version",
			`Attribute kubernetes.exec.api_version value must be one of: ["client.authentication.k8s.io/v1" "client.authentication.k8s.io/v1beta1"], got: "client.authentication.k8s.io/v1alpha1"`,
		},
		"context without a file": {
			host(object{"config_context": "c"}), "kubernetes.config_context",
			"kubernetes.config_context is set without a kubeconfig file. Set kubernetes.config_path or kubernetes.config_paths, too.",
		},
		"insecure and authority": {
			host(object{"insecure": true, "cluster_ca_certificate": somePEM}), "kubernetes.insecure",
			"kubernetes.insecure and kubernetes.cluster_ca_certificate are both set: remove kubernetes.insecure, so that the provider checks the certificate.",
		},
		"authority is base64": {
			host(object{"cluster_ca_certificate": base64.StdEncoding.EncodeToString([]byte(somePEM))}), "kubernetes.cluster_ca_certificate",
			"kubernetes.cluster_ca_certificate is not PEM. It is base64 of PEM: use base64decode.",
		},
		"authority is a path": {
			host(object{"cluster_ca_certificate": "/etc/ca.pem"}), "kubernetes.cluster_ca_certificate",
			`kubernetes.cluster_ca_certificate is not PEM. Its first line must be like "-----BEGIN CERTIFICATE-----"; to read a file, use file("PATH").`,
		},
		"proxy of the cluster": {
			host(object{"proxy_url": "ftp://proxy"}), "kubernetes.proxy_url",
			`kubernetes.proxy_url is "ftp://proxy", which is not a URL with a scheme (http, https, socks5) and a host. Write one such as http://proxy:3128.`,
		},
	}
}

// place writes a path as users do.
func place(p *tftypes.AttributePath) string {
	var out strings.Builder
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			out.WriteString("." + string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&out, "[%d]", int64(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&out, "[%q]", string(step))
		case tftypes.ElementKeyValue:
			out.WriteString("[...]")
		}
	}
	return strings.TrimPrefix(out.String(), ".")
}

func TestConfigure_BadInputNamesAttributeFaultAndRemedy(t *testing.T) {
	for name, tt := range badProviders() {
		t.Run(name, func(t *testing.T) {
			diags := newHarness(t).validateProvider(tt.config)
			if len(diags) != 1 || diags[0].Severity != tfprotov6.DiagnosticSeverityError {
				t.Fatalf("%d diagnostics, want one error: %v", len(diags), diags)
			}
			if at := place(diags[0].Attribute); at != tt.at || diags[0].Detail != tt.says {
				t.Errorf("at %s: %s\nwant at %s: %s", at, diags[0].Detail, tt.at, tt.says)
			}
		})
	}
	wantNoError(t, newHarness(t).validateProvider(object{"region": "mars-1", "skip_region_validation": true}))
}
