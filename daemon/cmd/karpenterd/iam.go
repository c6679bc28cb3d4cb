package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// iamPolicy is the command "iam-policy".
type iamPolicy struct {
	awsspec.Installation

	withoutQueue bool
}

func iamPolicyCommand(s streams) *cobra.Command {
	var p iamPolicy
	command := &cobra.Command{
		Use: "iam-policy [DOCUMENT]", Short: "write the IAM policies, trust policies and event rules that the daemon needs",
		Long: "iam-policy writes the documents that the Terraform provider makes, for who makes roles and queue by\n" +
			"other means: one document by its name, or all of them as one JSON object. It calls nothing.\n\n" + aboutDocuments(),
		Example: "  karpenterd iam-policy --cluster-name prod --region us-west-2 --account 123456789012\n" +
			"  karpenterd iam-policy node-trust --cluster-name prod --region us-west-2 --account 123456789012",
		ValidArgs: documentNames(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("unexpected argument %q: name one document, or none for all", args[1])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return p.run(s.out, args) },
	}
	flags := command.Flags()
	flags.StringVar(&p.Cluster, "cluster-name", "", "name of the EKS cluster (required)")
	flags.StringVar(&p.Region, "region", "", "AWS region of the cluster (required)")
	flags.StringVar(&p.Account, "account", "", "id of the AWS account, 12 digits (required)")
	flags.StringVar(&p.Partition, "partition", "", "AWS partition; default: that of the region")
	flags.StringArrayVar(&p.NodeRoleARNs, "node-role-arn", nil, "ARN of a role that the daemon may give to instances; may be repeated; default: the role KarpenterNodeRole-<cluster>")
	flags.StringVar(&p.ControllerRole, "role-name", "", "name of the daemon's role; default: KarpenterControllerRole-<cluster>")
	flags.StringVar(&p.QueueName, "queue-name", "", "name of the interruption queue; default: the cluster's name")
	flags.BoolVar(&p.withoutQueue, "without-queue", false, "there is no interruption queue")
	flags.StringVar(&p.Issuer, "oidc-issuer", "", "OIDC issuer of the cluster, for the trust policy of IRSA")
	flags.StringVar(&p.Namespace, "namespace", install.DefaultNamespace, "namespace of the daemon")
	flags.StringVar(&p.ServiceAccount, "service-account", install.DefaultServiceAccount, "service account of the daemon")
	return command
}

// allDocuments are those of an installation that has all.
func allDocuments() []awsspec.Document {
	return awsspec.Documents(awsspec.Installation{QueueName: "queue", Issuer: "issuer"})
}

func documentNames() []string {
	var out []string
	for _, d := range allDocuments() {
		out = append(out, d.Name)
	}
	return out
}

func aboutDocuments() string {
	var out strings.Builder
	out.WriteString("Documents:\n")
	for _, d := range allDocuments() {
		fmt.Fprintf(&out, "  %-32s%s\n", d.Name, d.About)
	}
	return strings.TrimSpace(out.String())
}

func (p *iamPolicy) run(out io.Writer, args []string) error {
	if err := p.complete(); err != nil {
		return usageError{fmt.Errorf("iam-policy: %w", err)}
	}
	documents := awsspec.Documents(p.Installation)
	if len(args) == 1 {
		for _, d := range documents {
			if d.Name == args[0] {
				return writeJSON(out, []byte(d.Text))
			}
		}
		return usageError{fmt.Errorf("iam-policy: %w", p.without(args[0]))}
	}
	var fields []string // in the order of the documents
	for _, d := range documents {
		fields = append(fields, `"`+d.Name+`":`+d.Text)
	}
	return writeJSON(out, []byte("{"+strings.Join(fields, ",")+"}"))
}

// without says why there is no such document.
func (p *iamPolicy) without(name string) error {
	for _, d := range allDocuments() {
		switch {
		case d.Name != name:
		case name == awsspec.IRSATrustDocument:
			return fmt.Errorf("%s needs the cluster's issuer: give --oidc-issuer, such as https://oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF", name)
		default:
			return fmt.Errorf("there is no %s without a queue: leave --without-queue out", name)
		}
	}
	return fmt.Errorf("there is no document %q: name one of %s, or none for all", name, strings.Join(documentNames(), ", "))
}

// complete fills in the defaults, and says what is wrong or missing.
func (p *iamPolicy) complete() error {
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	fault("cluster-name", awsspec.CheckClusterName(p.Cluster))
	fault("region", install.CheckRegion(p.Region))
	if !regexp.MustCompile(`^[0-9]{12}$`).MatchString(p.Account) {
		fault("account", fmt.Errorf("%q: must have 12 digits", p.Account))
	}
	if p.Issuer != "" && !regexp.MustCompile(`^(https://)?[a-z0-9.-]+/id/[A-Za-z0-9]+$`).MatchString(p.Issuer) {
		fault("oidc-issuer", fmt.Errorf("%q: must be the cluster's issuer as EKS gives it, such as https://oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF", p.Issuer))
	}
	for _, problem := range validation.IsDNS1123Label(p.Namespace) {
		fault("namespace", fmt.Errorf("%q: %s", p.Namespace, problem))
	}
	for _, problem := range validation.IsDNS1123Subdomain(p.ServiceAccount) {
		fault("service-account", fmt.Errorf("%q: %s", p.ServiceAccount, problem))
	}
	for _, arn := range p.NodeRoleARNs {
		fault("node-role-arn", awsspec.CheckRoleARN(arn))
	}
	if p.ControllerRole != "" {
		fault("role-name", awsspec.CheckRoleName(p.ControllerRole))
	}
	if p.withoutQueue && p.QueueName != "" {
		faults = append(faults, errors.New("--queue-name and --without-queue exclude each other; give one of them"))
	}
	if p.Partition == "" {
		p.Partition = awsspec.Partition(p.Region)
	}
	if p.QueueName == "" && !p.withoutQueue {
		p.QueueName = awsspec.QueueName(p.Cluster)
	} else if p.QueueName != "" {
		fault("queue-name", awsspec.CheckQueueName(p.QueueName))
	}
	return errors.Join(faults...)
}

func writeJSON(out io.Writer, text []byte) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return fmt.Errorf("iam-policy: document write: %w", err)
	}
	indented.WriteString("\n")
	if _, err := out.Write(indented.Bytes()); err != nil {
		return fmt.Errorf("iam-policy: output write: %w", err)
	}
	return nil
}
