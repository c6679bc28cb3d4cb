package legacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// origin is an object that has settings of Karpenter's controller. What an origin says later
// overrides what it has said before, as it did for the controller: parameters override values, and
// the environment overrides both.
type origin struct {
	*converter
	subject

	all  map[string]string // the settings of the ConfigMap, by key
	own  map[string]given  // what counts of it, by variable or key
	read bool              // it has a setting of Karpenter
}

// given is the value that a setting has, and where it is written.
type given struct {
	subject
	at, value string
}

// origin begins to read an object.
func (c *converter) origin(s subject) *origin {
	return &origin{converter: c, subject: s, own: map[string]given{}}
}

// give notes a value that counts.
func (o *origin) give(at, name, value string) {
	o.own[name] = given{subject: o.subject, at: at, value: value}
}

// set notes a setting that the daemon carries out, and says of another one what happens instead.
func (o *origin) set(at string, known Setting, value string) {
	o.read = true
	switch {
	case value == "" || known.Written:
	case known.Here != "" && known.Gate == "":
		o.give(at, known.Variable, value)
	case known.Gate == "Drift" && value == "false":
		o.drifts(at, value)
	case known.Here != "" || value == known.Default:
	case known.Global == "aws.assumeRoleDuration" && o.all["aws.assumeRoleARN"] == "":
	default:
		o.lose(o.subject, at, "is not carried out: "+known.Effect, known.Remedy)
	}
}

// otherKeys are those of karpenter-global-settings that are no variables of the controller.
func otherKeys() []string {
	return []string{keyProfile, keyTags, keyDrift, "aws.enablePodENI", "aws.enableENILimitedPodDensity", "aws.nodeNameConvention", "enableDRA"}
}

// Keys that decide what classes and pools become.
const (
	keyProfile = "aws.defaultInstanceProfile"
	keyTags    = "aws.tags"
	keyDrift   = "featureGates.driftEnabled"
)

// setOther handles the keys that are no variables.
func (o *origin) setOther(at, key, value string) {
	switch key {
	case "_example":
	case keyProfile:
		if value != "" {
			o.give(at, key, value)
			o.profile = value
		}
	case keyTags:
		o.tagAll(at, value)
	case keyDrift:
		o.drifts(at, value)
	case "aws.enablePodENI":
		if value != "true" && value != "" {
			o.lose(o.subject, at, "is dropped, as v1 always knows pod network interfaces", "")
		}
	case "aws.enableENILimitedPodDensity":
		if value == "false" {
			o.lose(o.subject, at, "is dropped, as v1 counts the pods that network interfaces allow", "set maxPods: 110 of the kubelet in each EC2NodeClass, if the CNI needs no addresses of the interfaces")
		}
	case "aws.nodeNameConvention":
		if value != "ip-name" && value != "" {
			o.lose(o.subject, at, "is dropped, as the kubelet names nodes", "")
		}
	case "enableDRA":
		if value == "true" {
			o.lose(o.subject, at, "is not carried out: "+draEffect, draRemedy)
		}
	default:
		o.unknownSetting(at, key)
	}
}

// drifts notes whether nodes drift.
func (o *origin) drifts(at, value string) {
	if value != "" {
		o.give(at, keyDrift, value)
		o.drift, o.driftOff = value == "true", value == "false"
	}
}

// tagAll notes the tags of all classes.
func (o *origin) tagAll(at, value string) {
	if value == "" {
		return
	}
	tags := map[string]string{}
	if _, ok := o.own[keyTags]; ok {
		maps.Copy(tags, o.globalTags)
	}
	if err := json.Unmarshal([]byte(value), &tags); err != nil {
		o.fail(o.subject, at, "no JSON object of texts", `write one such as {"team":"platform"}`)
		return
	}
	if len(tags) == 0 {
		return
	}
	text, _ := json.Marshal(tags) // texts can be written
	o.give(at, keyTags, string(text))
	o.globalTags = tags
}

// unknownSetting warns of a key that Karpenter never had: its chart copied whatever was under
// settings, and the controller left it alone.
func (o *origin) unknownSetting(at, key string) {
	known := otherKeys()
	for _, setting := range Settings() {
		known = append(known, setting.Global)
	}
	slices.Sort(known)
	for _, k := range known {
		if k != "" && (k == "aws."+key || distance(k, key) <= 2) {
			o.lose(o.subject, at, "no such setting, and Karpenter took no notice of it", "write "+k+", if it is meant")
			return
		}
	}
	o.lose(o.subject, at, "no such setting, and Karpenter took no notice of it", "")
}

// done warns of what another origin has otherwise, says where the settings of this one are written
// that the daemon has, and returns whether there was a setting of Karpenter at all.
func (o *origin) done() (read bool) {
	for _, name := range slices.Sorted(maps.Keys(o.own)) {
		now := o.own[name]
		if was, ok := o.given[name]; ok && was.value != now.value {
			o.warn(o.subject, now.at, fmt.Sprintf("%s counts, and not %s of %s, %s", quoted(now.value), quoted(was.value), was.where(), was.at), "convert the objects of each cluster by themselves, or remove one of the two")
		}
		o.given[name] = now
	}
	var names []string
	for _, known := range Settings() {
		if g, ok := o.own[known.Variable]; ok && g.value != known.Default {
			names = append(names, known.Here+" = "+strconv.Quote(g.value))
		}
	}
	if len(names) > 0 {
		o.warn(o.subject, "", "the daemon has these settings as attributes of karpenter_daemon, and as values of its chart", "write "+strings.Join(names, ", "))
	}
	return o.read
}

// quoted writes a value; JSON has quotes of its own.
func quoted(value string) string {
	if strings.HasPrefix(value, "{") {
		return value
	}
	return strconv.Quote(value)
}

// environment are the settings that the daemon has, by variable.
func (c *converter) environment() map[string]string {
	all := map[string]string{}
	for _, known := range Settings() {
		if g, ok := c.given[known.Variable]; ok && g.value != known.Default {
			all[known.Variable] = g.value
		}
	}
	return all
}
