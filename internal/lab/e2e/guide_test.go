//go:build lab

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/judge"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// fate is what becomes of a command of a guide in tests: the test that runs it, or why none
// does.
type fate struct{ by, because string }

// fates has the commands of the guides: blocks by the comment that each begins with, and, of
// the guides to what users have already written, commands within the text as they are
// written there.
func fates() map[string]map[string]fate {
	const (
		takeOver, roll = "TestTakeOver_WhatKarpenterLeftGoesOn", "TestRoll_PodsOfOldNodesGetNodesOfTheDaemon"
		logs           = "TestControlPlane_RunsPodsAsAClusterDoes reads logs with kubectl; here the log is read from its file"
		terraform      = "the daemon of this test is not installed by Terraform; acceptance tests of the provider destroy it, and the state is Terraform's own"
	)
	const tryIt, yamlProgram = "TestAccTryIt", "TestPulumi_TheQuickStartInYAML"
	const simulated = "TestSimulateGuide_TheBlocksDoWhatTheGuideSays runs it on the dump of the guide"
	const explains = "TestDaemon/Explain_TheGuidesBlocksReachTheLeader"
	const shadows = "TestDaemonBroken/Shadow_RunsByTheGuideWithoutKarpenter"
	const manifests = "TestDrift_NodesFollowTheirClassAndTheirPool"
	return map[string]map[string]fate{
		"gitops": {
			"documents": {by: manifests},
			"apply":     {by: manifests},
			"compare":   {by: manifests},
			"helm":      {by: manifests},
			"end":       {by: manifests},
		},
		"disruption": {
			"ask":                {by: explains},
			"ask in the pod":     {by: explains},
			"all of it":          {because: "curl need not be there where tests run; \"ask\" asks the same listener through the same kind of forward"},
			"without the daemon": {because: "TestAccNodePool_ADestroyWithoutADaemonTerminatesTheInstancesItself lets the provider do the same"},
		},
		"page": {
			"open the page": {because: "it opens a browser and runs until Ctrl-C; TestDaemon/Page_ShowsWhatTheDaemonDoes runs it with --no-browser"},
		},
		"try_it": {
			"a repository":              {because: "the laboratory has no ECR; the registry of the test asks for no credentials"},
			"get the source":            {because: "the test runs in a checkout"},
			"build":                     {by: tryIt},
			"push the image":            {by: tryIt},
			"copy the configuration":    {by: tryIt},
			"name the image":            {by: tryIt},
			"development override":      {by: tryIt},
			"mirror in the file system": {by: tryIt},
			"install from the mirror":   {by: tryIt},
			"apply":                     {by: tryIt},
			"destroy":                   {by: tryIt},
		},
		"pulumi": {
			"build":              {because: "TestAccTryIt runs the same command"},
			"install the bridge": {because: "the test has no network: it installs the plugin that tools/pulumi builds, from its file"},
			"begin in YAML":      {by: yamlProgram},
			"begin in Python":    {because: "what runs Python does not build from Go modules; TestPulumi_TheQuickStartInPython runs the program by Pulumi's Automation API"},
			"configure":          {by: yamlProgram},
			"up":                 {by: yamlProgram},
			"nothing to do":      {by: yamlProgram},
			"import":             {by: yamlProgram},
			"destroy":            {by: yamlProgram},
		},
		"quickstart": {
			"apply": {because: "TestAccQuickstart applies the example with Terraform or OpenTofu, and try_it has the same commands for a provider that is built"},
		},
		"shadow": {
			"install": {by: shadows},
			"report":  {by: shadows},
			"remove":  {by: shadows},
		},
		"simulate": {
			"ask a cluster":                           {because: "TestSimulateGuide_ListsWhatTheCommandLists holds the role to what the command lists"},
			"bind the role":                           {because: "the group is the user's own"},
			"write a dump":                            {because: "TestSimulateGuide_ListsWhatTheCommandLists holds the kinds to those that the command lists"},
			"write a dump without Karpenter":          {because: "as the one before"},
			"read a dump":                             {because: simulated},
			"other prices":                            {because: "TestSimulate_LivePricesAreThoseOfAWS and TestSimulate_PricesOfAFileReplaceEmbeddedOnes run the command, each with prices of its own"},
			"another NodePool":                        {because: simulated},
			"a report with advice":                    {because: simulated},
			"more replicas, from nothing, for longer": {because: simulated},
			"check a change of a NodePool":            {because: simulated},
			"for other programs":                      {because: "TestSimulateGuide_TheBlocksDoWhatTheGuideSays reads the same field"},
		},
		"convert": {
			"convert": {because: "the files are the user's own; TestConvert_ReadsFilesAndFolders and the guide from_v1alpha5 run these commands on files that exist"},
		},
		"take_over": {
			`kubectl get crd nodepools.karpenter.sh -o jsonpath='{.status.storedVersions}'`: {by: takeOver},
			"stop":                {by: takeOver},
			"look":                {by: takeOver},
			"write the resources": {by: takeOver},
			"forget":              {by: takeOver},
			"stop the daemon":     {by: takeOver},
			"hand back":           {by: takeOver},
			"start Karpenter":     {by: takeOver},
			"kubectl -n kube-system logs deployment/karpenterd": {because: logs},
			"karpenterd simulate":                               {because: "the text names the command; the guide simulate has its use"},
			"karpenterd convert":                                {because: "the text names the command; the guide from_v1alpha5 runs it"},
			"karpenterd convert --hcl":                          {because: "the text names the command; the guide convert has its use"},
			"terraform destroy":                                 {because: terraform},
			"terraform destroy -target karpenter_daemon.this":   {because: terraform},
			"terraform state rm karpenter_daemon.this":          {because: terraform},
			"terraform state rm karpenter_controller_role.this": {because: terraform},
		},
		"from_v1alpha5": {
			"convert":      {by: roll},
			"no new nodes": {by: roll},
			"roll":         {by: roll},
			"kubectl get nodes -l karpenter.sh/provisioner-name": {by: roll},
			"webhooks": {by: roll},
			"kubectl delete crd provisioners.karpenter.sh machines.karpenter.sh awsnodetemplates.karpenter.k8s.aws --ignore-not-found": {by: roll},
			"without the old controller": {by: roll},
		},
		"legacy": {
			"define": {by: roll},
			"karpenterd definitions --legacy | kubectl apply --server-side --force-conflicts -f -": {by: roll},
			"kubectl -n karpenter rollout restart deployment karpenterd":                           {by: roll},
			"migrate":            {because: "TestDaemonLegacy makes these requests one by one, and looks at what is between them"},
			"karpenterd convert": {because: "the text names the command; the guide from_v1alpha5 runs it"},
		},
		"from_terraform_aws_eks": {
			"forget what blueprints has made": {because: "the module is not there where tests run; terraform state rm is Terraform's own"},
		},
		"from_cluster_autoscaler": {
			"do not grow": {because: "the node groups of the simulated EKS do not change"},
			"move":        {by: roll},
			"kubectl drain -l eks.amazonaws.com/nodegroup=workers --ignore-daemonsets --delete-emptydir-data": {by: roll},
		},
	}
}

// commandsOf returns the commands of the guide, as fates has them. A block without a title of
// its own is an error.
func commandsOf(t *testing.T, name string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../templates/guides/" + name + ".md*")
	if err != nil || len(files) != 1 {
		t.Fatalf("guide %s: %v, %v", name, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	parts := strings.Split(string(text), "```")
	for i, part := range parts {
		if i%2 == 0 {
			if !inText(name) {
				continue
			}
			for _, found := range regexp.MustCompile("`((?:kubectl|helm|aws|karpenterd|terraform|tofu|jq) [^`]+)`").FindAllStringSubmatch(part, -1) {
				out[found[1]] = found[1]
			}
			continue
		}
		fence, block, _ := strings.Cut(part, "\n")
		if slices.Contains([]string{"terraform", "hcl", "yaml", "json", "text"}, fence) {
			continue
		}
		title, named := strings.CutPrefix(block, "# ")
		title, lines, _ := strings.Cut(title, "\n")
		if _, taken := out[title]; !named || taken {
			t.Errorf("guide %s: the block needs a first line # with a title that no other has:\n%s", name, block)
		}
		out[title] = lines
	}
	return out
}

// inText says whether the commands within the text of a guide are a way that users go step by
// step. Those of other guides are mentioned only.
func inText(guide string) bool {
	return slices.Contains([]string{"take_over", "from_v1alpha5", "legacy", "from_cluster_autoscaler"}, guide)
}

func TestGuides_EveryCommandIsRunOrItIsSaidWhyNot(t *testing.T) {
	var source strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../../../provider/try_it_acc_test.go", "../pulumi/pulumi_test.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	guides, err := filepath.Glob("../../../templates/guides/*")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, path := range guides {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		table, commands := fates()[name], commandsOf(t, name)
		for title := range commands {
			if _, listed := table[title]; !listed {
				t.Errorf("guide %s: no test runs %q, and fates does not say why", name, title)
			}
		}
		for title, is := range table {
			_, there := commands[title]
			switch {
			case !there:
				t.Errorf("guide %s has no %q: take it out of fates", name, title)
			case (is.by == "") == (is.because == ""):
				t.Errorf("guide %s: %q needs a test or a reason", name, title)
			case is.by != "" && !isTest(source.String(), is.by):
				t.Errorf("guide %s: %q: there is no %s", name, title, is.by)
			case is.by != "":
				ran++
			}
		}
	}
	if ran < 15 {
		t.Errorf("%d commands are run: the test looks at the wrong place", ran)
	}
}

// isTest says whether there is such a test, or part of one.
func isTest(source, name string) bool {
	whole, part, _ := strings.Cut(name, "/")
	return strings.Contains(source, "func "+whole+"(t *testing.T)") && strings.Contains(source, part)
}

// guide runs the commands of a guide.
type guide struct {
	*terminal

	name     string
	commands map[string]string
	ran      map[string]bool
}

// terminal is where a user of the laboratory works: bash with the programs of the guides, the
// administrator's access to the cluster, the deployer's to AWS, and a folder.
type terminal struct {
	env []string
	dir string
}

// terminal opens one.
func (d *daemonLab) terminal(t *testing.T) *terminal {
	t.Helper()
	bin := t.TempDir()
	tools, err := toolchain.Ensure(t.Context(), os.Stderr, toolchain.Kubectl, toolchain.JQ, toolchain.Helm)
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{}
	for name, found := range tools {
		programs[string(name)] = found.Path
	}
	python, err := judge.Python(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	aws := "#!/bin/sh\nexec '" + python + "' -m awscli \"$@\"\n" // its own script names the folder that it was made in
	if err := os.WriteFile(filepath.Join(bin, "aws"), []byte(aws), 0o700); err != nil {
		t.Fatal(err)
	}
	if programs["karpenterd"], err = toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd"); err != nil {
		t.Fatal(err)
	}
	for name, path := range programs {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	x := &terminal{dir: t.TempDir()}
	x.env = append(os.Environ(), "KUBECONFIG="+d.Kubeconfig, "HOME="+x.dir, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return x
}

// bash runs the commands as they are written, and stops at the first that fails. It returns
// what they print; an error has what they complain about.
func (x *terminal) bash(t *testing.T, commands string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	c.Env, c.Dir, c.WaitDelay = x.env, x.dir, time.Second
	var printed, complaint bytes.Buffer
	c.Stdout, c.Stderr = &printed, &complaint
	if err = c.Run(); err != nil {
		err = fmt.Errorf("%w: %s", errors.Join(ctx.Err(), err), complaint.String())
	}
	return printed.String(), err
}

// must runs commands of the test itself.
func (x *terminal) must(t *testing.T, commands string) string {
	t.Helper()
	out, err := x.bash(t, commands)
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return out
}

// openGuide reads the guide of templates/guides. The test must run the commands that fates
// says it runs.
func (x *terminal) openGuide(t *testing.T, name string) guide {
	t.Helper()
	g := guide{terminal: x, name: name, commands: commandsOf(t, name), ran: map[string]bool{}}
	t.Cleanup(func() {
		for _, title := range slices.Sorted(maps.Keys(fates()[name])) {
			if fates()[name][title].by == t.Name() && !g.ran[title] && !t.Failed() {
				t.Errorf("guide %s: this test does not run %q", name, title)
			}
		}
	})
	return g
}

// run runs the commands of a title. Fills are pairs: words that the guide has in the place of
// names, and the names.
func (g guide) run(t *testing.T, title string, fills ...string) (out string) {
	t.Helper()
	out, err := g.try(t, title, fills...)
	if err != nil {
		t.Fatalf("guide %s, %s: %v\n%s", g.name, title, err, out)
	}
	return out
}

func (g guide) try(t *testing.T, title string, fills ...string) (out string, err error) {
	t.Helper()
	commands, there := g.commands[title]
	if !there {
		t.Fatalf("guide %s has no %q", g.name, title)
	}
	if is := fates()[g.name][title]; is.by != t.Name() {
		t.Errorf("guide %s: %q is run here, and fates says by %q", g.name, title, is.by)
	}
	g.ran[title] = true
	return g.bash(t, strings.NewReplacer(fills...).Replace(commands))
}
