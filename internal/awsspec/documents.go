package awsspec

import (
	"encoding/json"
	"strings"
)

// Installation names all that the documents of an installation depend on.
type Installation struct {
	Partition, Region, Account, Cluster string
	ControllerRole                      string   // name of the daemon's role; empty: ControllerRoleName of the cluster
	NodeRoleARNs                        []string // the roles that the daemon may give to instances; empty: the one with the name NodeRoleName of the cluster
	QueueName                           string   // empty: no interruption queue
	Issuer                              string   // OIDC issuer of the cluster, for IRSA; empty: no trust policy for IRSA
	Namespace, ServiceAccount           string   // of the daemon
}

// Document is a text that somebody needs who makes what the daemon needs of AWS by other means than the
// provider.
type Document struct {
	Name, About string
	Text        string // JSON
}

// Names of documents. Those of the controller's policies are ControllerDocument and the kind of the policy.
const (
	ControllerDocument       = "controller-"
	ShadowDocument           = "shadow-read"
	IRSATrustDocument        = "controller-trust-irsa"
	PodIdentityTrustDocument = "controller-trust-pod-identity"
	NodeTrustDocument        = "node-trust"
	NodePoliciesDocument     = "node-managed-policies"
	QueuePolicyDocument      = "queue-policy"
	EventRulesDocument       = "event-rules"
)

// Documents returns the documents of an installation, as the provider makes them.
func Documents(in Installation) []Document {
	roles := in.NodeRoleARNs
	if len(roles) == 0 {
		roles = []string{RoleARN(in.Partition, in.Account, NodeRoleName(in.Cluster))}
	}
	controller := ControllerPolicyInput{
		Partition: in.Partition, Region: in.Region, Account: in.Account, Cluster: in.Cluster, Role: in.ControllerRole, NodeRoleARNs: roles,
	}
	if in.QueueName != "" {
		controller.QueueARN = QueueARN(in.Partition, in.Region, in.Account, in.QueueName)
	}
	var out []Document
	for _, p := range ControllerPolicies(controller) {
		out = append(out, Document{ControllerDocument + p.Kind, "policy of the daemon's role", p.Document})
	}
	out = append(out, Document{ShadowDocument, "policy of a role for a shadow: what AWS sells, and for which prices", ShadowPolicy(in.Region)})
	if in.Issuer != "" {
		issuer := strings.TrimPrefix(in.Issuer, "https://")
		out = append(out, Document{IRSATrustDocument, "trust policy of the daemon's role, for IRSA", IRSATrust(issuer, in.Account, in.Partition, in.Namespace, in.ServiceAccount)})
	}
	out = append(out,
		Document{PodIdentityTrustDocument, "trust policy of the daemon's role, for EKS Pod Identity", PodIdentityTrust(ClusterARN(in.Partition, in.Region, in.Account, in.Cluster), in.Namespace, in.ServiceAccount)},
		Document{NodeTrustDocument, "trust policy of the node role", NodeTrust(in.Partition)},
		Document{NodePoliciesDocument, "managed policies of AWS that the node role needs", compactJSON(NodeManagedPolicyARNs(in.Partition))})
	if in.QueueName == "" {
		return out
	}
	return append(out,
		Document{QueuePolicyDocument, "policy of the interruption queue", QueuePolicy(controller.QueueARN, in.Partition)},
		Document{EventRulesDocument, "EventBridge rules, each with the queue as its target", eventRulesText(in.Cluster)})
}

// RoleARN is the ARN of a role without a path.
func RoleARN(partition, account, name string) string {
	return "arn:" + partition + ":iam::" + account + ":role/" + name
}

func eventRulesText(cluster string) string {
	type rule struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Pattern     json.RawMessage `json:"pattern"`
	}
	var rules []rule
	for _, r := range EventRules(cluster) {
		rules = append(rules, rule{r.Name, r.Description, json.RawMessage(r.Pattern)})
	}
	return compactJSON(rules)
}
