package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install/values"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// manifests is the command of this name.
type manifests struct {
	files     []string
	namespace string
	flags     []valueFlag
	release   install.Image
}

// valueFlag is a flag that stands for a field of the values.
type valueFlag struct {
	name, field, about string
	set                func(*values.Values, string)
	given              string
}

func manifestsCommand(s streams, release install.Image) *cobra.Command {
	m := manifests{release: release, flags: valueFlags()}
	defaults := false
	var replicas int32
	var definitions, older, shadow bool
	command := &cobra.Command{
		Use: "manifests", Short: "write the manifests of the daemon for kubectl apply",
		Long: "manifests writes all objects that the daemon needs in the cluster, in the order in which they are\n" +
			"applied: definitions, namespace, service account, RBAC, ConfigMap, Service, PodDisruptionBudget and\n" +
			"Deployment. Flags set the frequent values; files set all of them, as the values of the Helm chart\n" +
			"do. A flag counts for more than a file, and a later file for more than an earlier one.",
		Example: "  karpenterd manifests --cluster-name prod --region us-west-2 | kubectl apply --server-side -f -\n" +
			"  karpenterd manifests --defaults > values.yaml\n  karpenterd manifests -f values.yaml -n kube-system --definitions=false",
		Args: noArguments("give flags only; values are in the files of -f"),
		RunE: func(c *cobra.Command, _ []string) error {
			if defaults {
				return m.writeDefaults(s.out)
			}
			return m.run(s, func(v *values.Values) {
				if c.Flags().Changed("replicas") {
					v.Replicas = replicas
				}
				if c.Flags().Changed("definitions") {
					v.Definitions.Enabled = definitions
				}
				if c.Flags().Changed("legacy") {
					v.Definitions.Legacy = older
				}
				if c.Flags().Changed("shadow") {
					v.Mode = map[bool]string{true: install.ModeShadow, false: install.ModeActive}[shadow]
				}
				if v.Mode == install.ModeShadow {
					m.apart(v, c.Flags().Changed("namespace"))
				}
			})
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&m.files, "values", "f", nil, "file with values in YAML, - for standard input; may be repeated")
	flags.StringVarP(&m.namespace, "namespace", "n", install.DefaultNamespace, "namespace of the daemon; of a shadow by default "+install.ShadowName)
	for i := range m.flags {
		flags.StringVar(&m.flags[i].given, m.flags[i].name, "", m.flags[i].about)
	}
	flags.Int32Var(&replicas, "replicas", install.DefaultReplicas, "number of replicas")
	flags.BoolVar(&definitions, "definitions", true, "write the custom resource definitions, too")
	flags.BoolVar(&older, "legacy", false, "write the definitions of Provisioner and AWSNodeTemplate, too")
	flags.BoolVar(&shadow, "shadow", false, "write a shadow, which looks at a cluster that another program works for, and changes nothing")
	flags.BoolVar(&defaults, "defaults", false, "write a values file with all fields, their defaults and what they mean, and nothing else")
	return command
}

// apart gives a shadow a namespace and a service account of its own, where the user names none: in
// those of the daemon there may be Karpenter's.
func (m *manifests) apart(v *values.Values, namespaced bool) {
	if !namespaced {
		m.namespace = install.ShadowName
	}
	if v.ServiceAccount.Name == install.DefaultServiceAccount {
		v.ServiceAccount.Name = install.ShadowName
	}
}

// valueFlags are the flags for text.
func valueFlags() []valueFlag {
	return []valueFlag{
		{name: "cluster-name", field: "settings.clusterName", about: "name of the EKS cluster", set: func(v *values.Values, s string) { v.Settings.ClusterName = s }},
		{name: "region", field: "settings.region", about: "AWS region of the cluster", set: func(v *values.Values, s string) { v.Settings.Region = s }},
		{name: "cluster-endpoint", field: "settings.clusterEndpoint", about: "URL at which nodes reach the API server; default: EKS is asked", set: func(v *values.Values, s string) { v.Settings.ClusterEndpoint = s }},
		{name: "queue-name", field: "settings.interruptionQueue", about: "name of the interruption queue", set: func(v *values.Values, s string) { v.Settings.InterruptionQueue = s }},
		{name: "role-arn", field: "serviceAccount.roleARN", about: "ARN of the daemon's role (IRSA); leave it out with EKS Pod Identity", set: func(v *values.Values, s string) { v.ServiceAccount.RoleARN = s }},
		{name: "service-account", field: "serviceAccount.name", about: "name of the service account; default: " + install.DefaultServiceAccount, set: func(v *values.Values, s string) { v.ServiceAccount.Name = s }},
		{name: "image", field: "controller.image", about: "image of the daemon with a digest or a tag; default: that of this release", set: func(v *values.Values, s string) { v.Controller.Image = values.ImageOf(s) }},
		{name: "log-level", field: "logLevel", about: "one of " + strings.Join(install.LogLevels(), ", "), set: func(v *values.Values, s string) { v.LogLevel = s }},
	}
}

func (m *manifests) run(s streams, more func(*values.Values)) error {
	texts, err := m.read(s.in)
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	v, err := values.Read(texts...)
	if err != nil {
		return usageError{fmt.Errorf("manifests: %w", err)}
	}
	for _, f := range m.flags {
		if f.given != "" {
			f.set(&v, f.given)
		}
	}
	more(&v)
	if _, err := translate.DefaultSpread(v.Settings.SchedulerConfig); err != nil {
		return usageError{fmt.Errorf("manifests: settings.schedulerConfig: %w", err)}
	}
	objects, err := v.Objects(m.namespace, m.release)
	if err != nil {
		return usageError{fmt.Errorf("manifests: %w", m.withFlags(err))}
	}
	return writeObjects(s.out, objects)
}

// read reads the files of values.
func (m *manifests) read(in io.Reader) ([][]byte, error) {
	var out [][]byte
	for i, name := range m.files {
		if name == "-" {
			if slices.Contains(m.files[:i], name) {
				return nil, usageError{errors.New("--values=- is given twice; standard input can be read once")}
			}
			source, err := readSource("stdin", in)
			if err != nil {
				return nil, err
			}
			out = append(out, []byte(source.Text))
			continue
		}
		source, err := readFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, []byte(source.Text))
	}
	return out, nil
}

// withFlags names the flag beside each field that has one.
func (m *manifests) withFlags(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		for _, f := range m.flags {
			if rest, ok := strings.CutPrefix(line, f.field+": "); ok {
				lines[i] = f.field + " (--" + f.name + "): " + rest
			}
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (m *manifests) writeDefaults(out io.Writer) error {
	text, err := values.YAML()
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("manifests: output write: %w", err)
	}
	return nil
}

// writeObjects writes objects for kubectl apply, in their order.
func writeObjects(out io.Writer, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("%s %s write: %w", o.GetKind(), o.GetName(), err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return fmt.Errorf("output write: %w", err)
		}
	}
	return nil
}
