package daemon

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int32validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int32default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// podAttributes are the attributes of convert.Pods: how the daemon's pods are run.
func podAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"resources":   daemonResourcesAttribute(),
		"tolerations": tolerationsAttribute(),
		"node_selector": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Labels that the nodes of the pods must have, such as `{ \"eks.amazonaws.com/nodegroup\" = \"system\" }`. The pods never run on nodes of node pools, which the daemon may delete.",
			Validators:          []validator.Map{mapvalidator.KeysAre(validate.LabelKey()), mapvalidator.ValueStringsAre(validate.LabelValue())},
		},
		"affinity": affinityAttribute(),
		"priority_class_name": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultPriorityClass),
			MarkdownDescription: "Priority class of the pods; empty for none. Default `" + install.DefaultPriorityClass + "`.",
			Validators:          []validator.String{validate.Is(install.CheckPriorityClass)},
		},
		"image_pull_secrets": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Names of Secrets in the daemon's namespace with which nodes pull the image.",
			Validators:          []validator.Set{setvalidator.ValueStringsAre(validate.ObjectName())},
		},
		"environment": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Further environment variables of the daemon, such as `GOMEMLIMIT` or `HTTPS_PROXY`. A setting of the daemon that is an attribute cannot be set here. Give no secrets: the values are in the state and in the Deployment.",
		},
		"pod_labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the daemon's pods alone, beside `labels`.",
			Validators: []validator.Map{mapvalidator.KeysAre(validate.LabelKey()), mapvalidator.ValueStringsAre(validate.LabelValue())},
		},
		"pod_annotations":   schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Annotations of the daemon's pods alone, beside `annotations`."},
		"metrics_port":      portAttribute("`/metrics`", install.MetricsPort),
		"health_probe_port": portAttribute("the health probes", install.HealthProbePort),
		"metrics_namespaces": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Namespaces whose pods may read `/metrics`, such as `[\"monitoring\"]`; `[]` for none. A NetworkPolicy then lets nothing else reach the daemon's pods but health probes. " +
				"Without `metrics_namespaces` there is no NetworkPolicy, and pods of all namespaces may read the metrics, which name NodePools and EC2NodeClasses, and no pods. " +
				"NetworkPolicies add up: for readers that no namespace names, such as a range of addresses, make one of your own.",
			Validators: []validator.Set{setvalidator.ValueStringsAre(validate.Namespace())},
		},
		"pod_disruption_budget": podDisruptionBudgetAttribute(),
	}
}

func portAttribute(of string, usual int32) schema.Attribute {
	return schema.Int32Attribute{
		Optional: true, Computed: true, Default: int32default.StaticInt32(usual),
		MarkdownDescription: fmt.Sprintf("Port of %s, 1024 to 65535. Default %d.", of, usual),
		Validators:          []validator.Int32{int32validator.Between(1024, 65535)},
	}
}

func daemonResourcesAttribute() schema.Attribute {
	usual := install.DefaultResources()
	amounts := func(what, otherwise string) schema.Attribute {
		amount := func(name, example string) schema.Attribute {
			return schema.StringAttribute{
				Optional: true, CustomType: fwtype.Quantity(), Validators: []validator.String{validate.Quantity()},
				MarkdownDescription: name + ", such as `" + example + "`.",
			}
		}
		return schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: what + " of each pod, in place of the default as a whole. Default: " + otherwise + ".",
			Attributes: map[string]schema.Attribute{"cpu": amount("CPU", "500m"), "memory": amount("Memory", "1Gi")},
		}
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "CPU and memory of the daemon. The daemon keeps its own memory below nine tenths of the limit.",
		Attributes: map[string]schema.Attribute{
			"requests": amounts("Requests", fmt.Sprintf("%s CPU and %s memory", usual.Requests.Cpu(), usual.Requests.Memory())),
			"limits":   amounts("Limits", fmt.Sprintf("%s memory; `{}` means none", usual.Limits.Memory())),
		},
	}
}

func tolerationsAttribute() schema.Attribute {
	text := func(description string, checks ...validator.String) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: checks}
	}
	return schema.ListNestedAttribute{
		Optional: true,
		MarkdownDescription: "Taints that the pods tolerate. Default: `CriticalAddonsOnly`, whatever its value. A list of your own takes the place of the default; " +
			"an empty list tolerates nothing.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"key": text("Key of the taint. Without a key and with the operator `Exists`, all taints are tolerated.", validate.LabelKey()),
			"operator": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("Equal"), MarkdownDescription: "`Equal` or `Exists`. Default `Equal`.",
				Validators: []validator.String{stringvalidator.OneOf("Equal", "Exists")},
			},
			"value":  text("Value of the taint, for the operator `Equal`.", validate.LabelValue()),
			"effect": text("Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Without it, all effects.", stringvalidator.OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")),
			"toleration_seconds": schema.Int64Attribute{
				Optional: true, MarkdownDescription: "How long a pod stays on a node that gets the taint, for the effect `NoExecute`. Without it, for ever.",
			},
		}},
	}
}

func affinityAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "Affinity of the pods. In any case the pods keep off nodes of node pools (label `" + v1.LabelNodePool + "`).",
		Attributes: map[string]schema.Attribute{
			"node_affinity":     affinityTerms("Rules about the labels of nodes.", "one of the terms must hold", nodeTermAttributes),
			"pod_affinity":      affinityTerms("Rules about pods that must run nearby.", "all terms must hold", podTermAttributes),
			"pod_anti_affinity": affinityTerms("Rules about pods that must not run nearby. It takes the place of the default: each node has one replica at most. `{}` is no rule, so that replicas may share a node.", "all terms must hold", podTermAttributes),
		},
	}
}

// affinityTerms has the required and the preferred terms of one kind of affinity.
func affinityTerms(description, required string, of func() map[string]schema.Attribute) schema.Attribute {
	weighted := of()
	weighted["weight"] = schema.Int32Attribute{
		Required: true, MarkdownDescription: "Weight of the term, 1 to 100.", Validators: []validator.Int32{int32validator.Between(1, 100)},
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"required": schema.ListNestedAttribute{
				Optional: true, MarkdownDescription: "Requirements: " + required + ".", Validators: []validator.List{listvalidator.SizeAtLeast(1)},
				NestedObject: schema.NestedAttributeObject{Attributes: of()},
			},
			"preferred": schema.ListNestedAttribute{
				Optional: true, MarkdownDescription: "Preferences, each with a weight.", Validators: []validator.List{listvalidator.SizeAtLeast(1)},
				NestedObject: schema.NestedAttributeObject{Attributes: weighted},
			},
		},
	}
}

func nodeTermAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"match_expressions": expressionsAttribute(true, "Expressions about labels of the node; all must hold.", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
	}
}

func podTermAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"topology_key": schema.StringAttribute{
			Required: true, MarkdownDescription: "Label of nodes that says what is near, such as `topology.kubernetes.io/zone`.", Validators: []validator.String{validate.LabelKey()},
		},
		"match_labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the other pods.",
			Validators: []validator.Map{
				mapvalidator.KeysAre(validate.LabelKey()), mapvalidator.ValueStringsAre(validate.LabelValue()),
			},
		},
		"match_expressions": expressionsAttribute(false, "Expressions about labels of the other pods; all must hold. Without these and `match_labels`, the rule is about all pods.", "In", "NotIn", "Exists", "DoesNotExist"),
		"namespaces": schema.SetAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Namespaces of the other pods. Default: the daemon's.",
			Validators: []validator.Set{setvalidator.ValueStringsAre(validate.Namespace())},
		},
	}
}

func expressionsAttribute(required bool, description string, operators ...string) schema.Attribute {
	return schema.ListNestedAttribute{
		Required: required, Optional: !required, MarkdownDescription: description, Validators: []validator.List{listvalidator.SizeAtLeast(1)},
		NestedObject: schema.NestedAttributeObject{
			Validators: []validator.Object{validate.Expression(operators...)},
			Attributes: map[string]schema.Attribute{
				"key":      schema.StringAttribute{Required: true, MarkdownDescription: "Key of the label.", Validators: []validator.String{validate.LabelKey()}},
				"operator": schema.StringAttribute{Required: true, MarkdownDescription: "One of `" + strings.Join(operators, "`, `") + "`."},
				"values": schema.SetAttribute{
					Optional: true, ElementType: types.StringType, MarkdownDescription: "Values: at least one for `In` and `NotIn`, one whole number for `Gt` and `Lt`, none for `Exists` and `DoesNotExist`.",
				},
			},
		},
	}
}

func podDisruptionBudgetAttribute() schema.Attribute {
	number := func(description string) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "PodDisruptionBudget of the daemon. At least one eviction must be allowed, or no node with a replica could be drained.",
		Attributes: map[string]schema.Attribute{
			"enabled": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true), MarkdownDescription: "Whether there is one. Default `true`.",
			},
			"max_unavailable": number("How many replicas may be evicted at a time: a number, or a percentage such as `50%`. Default `" + install.DefaultMaxUnavailable + "`."),
			"min_available":   number("In place of `max_unavailable`: how many replicas must stay, a number or a percentage."),
		},
	}
}
