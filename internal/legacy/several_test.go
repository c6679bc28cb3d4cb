package legacy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// An age of the API: what stands for a pool of this weight, and for a class of this profile.
type age struct{ pool, class func(of string) string }

func ages() map[string]age {
	const terms = "subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]"
	return map[string]age{
		"v1alpha5": {
			pool: func(weight string) string {
				return "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {weight: " + weight + ", providerRef: {name: b}}\n"
			},
			class: func(profile string) string {
				return "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}, instanceProfile: '" + profile + "'}\n"
			},
		},
		"v1beta1": {
			pool: func(weight string) string {
				return "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: " + weight + ", template: {spec: {requirements: [], nodeClassRef: {name: b}}}}\n"
			},
			class: func(profile string) string {
				return "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {amiFamily: AL2023, instanceProfile: '" + profile + "', " + terms + "}\n"
			},
		},
		"v1": {
			pool: func(weight string) string {
				return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: " + weight + ", template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: b}}}}\n"
			},
			class: func(profile string) string {
				return "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {amiSelectorTerms: [{alias: al2023@latest}], instanceProfile: '" + profile + "', " + terms + "}\n"
			},
		},
	}
}

// TestConvert_WhatStandsSeveralTimesIsThereForEachOfItsClassesOnce has the same and other pools and
// classes of one name, in one file and in several. Each pool is written once for each class that it
// refers to from where it stands, wherever else it or the class stands word for word.
func TestConvert_WhatStandsSeveralTimesIsThereForEachOfItsClassesOnce(t *testing.T) {
	for name, x := range map[string]struct {
		files []string // a path, and what the file has: p1 is a pool of weight 1, c1 a class of profile 1
		want  []string // pools with the profiles of their classes
		lone  []string // profiles of classes that no pool refers to
		error bool
	}{
		"a pool in three files, one class":                       {files: []string{"a/x p1", "a/y p1 c1", "b/x p1"}, want: []string{"p1 c1"}},
		"all in three folders":                                   {files: []string{"a/x p1 c1", "b/x p1 c1", "c/x p1 c1"}, want: []string{"p1 c1"}},
		"all three times in one file":                            {files: []string{"x p1 c1 p1 c1 c1 p1"}, want: []string{"p1 c1"}},
		"the third beside the second":                            {files: []string{"a/x p1", "a/c c1", "b/x p1", "b/c c2", "b/y p1"}, want: []string{"p1 c1", "p1 c2"}},
		"the third below the second":                             {files: []string{"a/x p1 c1", "b/x p1 c2", "b/d/x p1"}, want: []string{"p1 c1", "p1 c2"}},
		"the third in the file of the second":                    {files: []string{"a/x p1 c1", "b/x p1 c2 p1"}, want: []string{"p1 c1", "p1 c2"}},
		"the third in the file of the second, without a class":   {files: []string{"a/x p1", "a/c c1", "b/x p1 p1", "b/c c2"}, want: []string{"p1 c1", "p1 c2"}},
		"the third with the class of the first":                  {files: []string{"a/x p1 c1", "b/x p1 c2", "c/x p1 c1"}, want: []string{"p1 c1", "p1 c2"}},
		"the fourth with the class of the second":                {files: []string{"a/x p1 c1", "b/x p1 c2", "c/x p1 c1", "d/x p1 c2"}, want: []string{"p1 c1", "p1 c2"}},
		"three classes":                                          {files: []string{"a/x p1 c1", "b/x p1 c2", "c/x p1 c3", "c/y p1"}, want: []string{"p1 c1", "p1 c2", "p1 c3"}},
		"a class that another folder has, too":                   {files: []string{"a/b/c c1", "d/e/x p1 c1", "d/f/c c2"}, want: []string{"p1 c1"}, lone: []string{"c2"}},
		"a class that another folder has first":                  {files: []string{"a/b/c c2", "d/f/c c2", "d/g/c c1", "d/g/x p1", "d/f/x p2"}, want: []string{"p1 c1", "p2 c2"}},
		"pools that differ, and one class":                       {files: []string{"a/x p1 c1", "b/x p2 c1", "c/x p1 c1"}, want: []string{"p1 c1", "p2 c1"}},
		"pools that differ, each with its class":                 {files: []string{"a/x p1 c1", "b/x p2 c2", "c/x p1 c2", "d/x p2 c1"}, want: []string{"p1 c1", "p1 c2", "p2 c1", "p2 c2"}},
		"pools that differ in one file":                          {files: []string{"x p1 p2 c1"}, error: true},
		"pools that differ in one file, one of them elsewhere":   {files: []string{"a/x p1 c1", "b/x p1 p2"}, error: true},
		"pools that differ in one file, the other elsewhere":     {files: []string{"a/x p1 c1", "b/x p2 p1"}, error: true},
		"classes that differ in one file":                        {files: []string{"x c1 c2"}, error: true},
		"classes that differ in one file, one of them elsewhere": {files: []string{"a/x p1 c1", "b/x c1 c2"}, error: true},
		"classes that differ in one file, the other elsewhere":   {files: []string{"a/x p1 c1", "b/x c2 c1"}, error: true},
	} {
		for version, of := range ages() {
			t.Run(version+"/"+name, func(t *testing.T) {
				result := legacy.Convert(filesOf(of, x.files), legacy.Options{})
				if x.error != (len(result.Errors) > 0) {
					t.Fatalf("errors %v", result.Errors)
				}
				if x.error {
					return
				}
				pools, lone := referred(t, result)
				if !slices.Equal(pools, x.want) || !slices.Equal(lone, x.lone) {
					t.Errorf("pools %q, want %q; lone classes %q, want %q", pools, x.want, lone, x.lone)
				}
				wanted := len(x.want)
				for _, kind := range []string{"Pool", "Provisioner"} { // one pool of several classes is several, too
					for _, p := range result.Twice {
						if strings.Contains(p.Object, kind) {
							wanted--
						}
					}
				}
				if wanted != 1 {
					t.Errorf("of %q is said %v", x.want, result.Twice)
				}
			})
		}
	}
}

// filesOf are the files of a line each; see the table.
func filesOf(of age, lines []string) []legacy.Source {
	var all []legacy.Source
	for _, line := range lines {
		words := strings.Fields(line)
		var texts []string
		for _, word := range words[1:] {
			text := of.class
			if word[0] == 'p' {
				text = of.pool
			}
			texts = append(texts, text(word[1:]))
		}
		all = append(all, legacy.Source{Name: words[0] + ".yaml", Text: strings.Join(texts, "---\n")})
	}
	return all
}

// referred are the pools of a configuration, each with its class, and the classes of no pool.
func referred(t *testing.T, result legacy.Result) (pools, lone []string) {
	t.Helper()
	text, _ := result.HCL("null")
	classes := map[string]string{}
	for block := range strings.SplitSeq("\n"+text, "\nresource ") {
		var label, profile, weight, ref string
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); {
			case strings.HasPrefix(key, `"karpenter_node_class"`):
				label = strings.Fields(key)[1]
			case key == "instance_profile":
				profile = strings.Trim(value, `"`)
			case key == "weight":
				weight = value
			case key == "node_class":
				ref = strings.TrimSuffix(strings.TrimPrefix(value, "karpenter_node_class."), ".name")
			}
		}
		switch {
		case label != "":
			classes[strings.Trim(label, `"`)] = "c" + profile
		case weight != "":
			pools = append(pools, fmt.Sprintf("p%s %s", weight, classes[ref]))
			classes[ref] += "*"
		}
	}
	for i := range pools {
		pools[i] = strings.TrimRight(pools[i], "*")
	}
	for _, class := range classes {
		if !strings.HasSuffix(class, "*") {
			lone = append(lone, class)
		}
	}
	slices.Sort(pools)
	slices.Sort(lone)
	return pools, lone
}

// TestConvert_AllFilesOfAnObjectAreNamedWhereAnotherHasItsName lets a user take the output apart by
// clusters again.
func TestConvert_AllFilesOfAnObjectAreNamedWhereAnotherHasItsName(t *testing.T) {
	for version, of := range ages() {
		result := legacy.Convert(filesOf(of, []string{"a/x p1 c1", "b/x p1 c2", "c/x p1 c1"}), legacy.Options{})
		manifests, err := result.YAML()
		if err != nil {
			t.Fatal(err)
		}
		config, _ := result.HCL("null")
		for name, text := range map[string]string{"manifests": manifests, "configuration": config} {
			for from, n := range map[string]int{"# From a/x.yaml, c/x.yaml.\n": 2, "# From b/x.yaml.\n": 2} {
				if strings.Count(text, from) != n {
					t.Errorf("%s: the %s do not say %q %d times:\n%s", version, name, from, n, text)
				}
			}
		}
	}
}

// TestConvert_NodeClaimsOfOneNameFollowTheRulesOfPools has claims that are the same, and others.
func TestConvert_NodeClaimsOfOneNameFollowTheRulesOfPools(t *testing.T) {
	of := func(version, class string) string {
		return "apiVersion: karpenter.sh/" + version + "\nkind: NodeClaim\nmetadata: {name: claim, labels: {karpenter.sh/nodepool: a}}\nspec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: " + class + "}}\n"
	}
	pool := func(expiry string) string {
		return "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [], nodeClassRef: {name: b}}}, disruption: {expireAfter: " + expiry + "}}\n"
	}
	for _, version := range []string{"v1beta1", "v1"} {
		one, other := of(version, "b"), of(version, "c")
		for name, x := range map[string]struct {
			sources               []legacy.Source
			claims, twice, errors int
		}{
			"the same":                      {[]legacy.Source{{Name: "x", Text: one + "---\n" + one}, {Name: "y", Text: one}}, 1, 0, 0},
			"others in two files":           {[]legacy.Source{{Name: "x", Text: one}, {Name: "y", Text: other}, {Name: "z", Text: one}}, 2, 1, 0},
			"others in one file":            {[]legacy.Source{{Name: "x", Text: one + "---\n" + other}}, 0, 0, 1},
			"others in one file, and again": {[]legacy.Source{{Name: "x", Text: one}, {Name: "y", Text: one + "---\n" + other}}, 0, 0, 1},
		} {
			result := legacy.Convert(x.sources, legacy.Options{})
			if len(result.Errors) != x.errors || len(result.Twice) != x.twice {
				t.Errorf("%s %s: errors %v, twice %v", version, name, result.Errors, result.Twice)
			}
			if text, err := result.YAML(); err != nil || x.errors == 0 && strings.Count(text, "kind: NodeClaim\n") != x.claims {
				t.Errorf("%s %s: %v\n%s", version, name, err, text)
			}
		}
	}
	text, err := legacy.Convert([]legacy.Source{{Name: "a/p", Text: pool("1h")}, {Name: "b/p", Text: pool("2h")}, {Name: "b/n", Text: of("v1beta1", "b")}}, legacy.Options{}).YAML()
	if _, claim, _ := strings.Cut(text, "kind: NodeClaim\n"); err != nil || !strings.Contains(claim, "expireAfter: 2h\n") {
		t.Errorf("the claim does not live as long as the pool of its own folder says: %v\n%s", err, claim)
	}
}
