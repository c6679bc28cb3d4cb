//go:build lab

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// TestDaemon runs the deployed daemon in one laboratory, for all that needs nothing broken.
// Its parts have pools and Deployments of their own.
func TestDaemon(t *testing.T) {
	d := startDaemonLab(t, lab.Options{Progress: os.Stderr})
	identities := d.identities(t)
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))

	d.part(t, "PodsRunOnNodesThatItLaunchesAndGoWhenEmpty", podsRunOnNodesThatItLaunches)
	d.part(t, "Explain_TheGuidesBlocksReachTheLeader", explainReachesTheLeader)
	d.part(t, "Page_ShowsWhatTheDaemonDoes", pageShowsWhatTheDaemonDoes)
	d.part(t, "Simulate_ForetellsWhatTheDaemonDoes", simulateForetellsWhatTheDaemonDoes)
	d.part(t, "Shadow_LooksAndTouchesNothing", shadowLooksAndTouchesNothing)
	d.together(t, "Together", map[string]func(*testing.T, *daemonLab){
		"ScaleUp_NoPodIsLaunchedForTwice/on-demand":     func(t *testing.T, d *daemonLab) { noPodIsLaunchedForTwice(t, d, false) },
		"ScaleUp_NoPodIsLaunchedForTwice/spot":          func(t *testing.T, d *daemonLab) { noPodIsLaunchedForTwice(t, d, true) },
		"Capacity_NextOfferingIsTriedWithinAFleet":      nextOfferingWithinAFleet,
		"Capacity_FailedFleetIsPlannedAnewOnOtherTypes": failedFleetIsPlannedAnew,
		"Reservation_IsUsedFirstAsFarAsItGoes":          reservationIsUsedFirst,
		"Drain_BlockingPDBHoldsItAndLetsGo":             blockingPDBHoldsADrain,
		"Drain_DoNotDisruptHoldsIt":                     doNotDisruptHoldsADrain,
		"Drain_TerminationGracePeriodEndsIt":            terminationGracePeriodEndsADrain,
		"Drain_OfANodeWhoseKubeletStoppedEnds": func(t *testing.T, d *daemonLab) {
			brokenKubeletEndsADrain(t, d, "stopped", d.StopKubelet, corev1.ConditionUnknown)
		},
		"Drain_OfANodeThatHangsEnds": func(t *testing.T, d *daemonLab) {
			brokenKubeletEndsADrain(t, d, "hung", d.HangKubelet, corev1.ConditionTrue)
		},
		"Delete_NodeOrNodeClaimDrainsAndTerminates":    deletingDrainsAndTerminates,
		"NodeClass_SaysWhatIsWrongAndHowToMendIt":      nodeClassSaysWhatIsWrong,
		"NodeClass_SelectsImagesOfItsOwn":              nodeClassSelectsItsOwnImages,
		"NodeClass_GivesEachInstanceTypeItsPods":       nodeClassGivesEachInstanceTypeItsPods,
		"NodeClass_OfBottlerocketMakesNodes":           nodeClassOfBottlerocket,
		"NodeClass_RoleMakesTheInstanceProfile":        nodeClassRoleMakesTheProfile,
		"NodePool_StaticKeepsItsNodes":                 staticPoolKeepsItsNodes,
		"NodePool_ForegroundDeletionKeepsReplicas":     foregroundDeletionKeepsReplicas,
		"Walkthrough_ManifestsOfKarpenterRunUnchanged": walkthrough,
		"Devices_GPUNodeWaitsForItsPlugin":             gpuNodeWaitsForItsPlugin,
		"Devices_NeuronPluginStartsOnANewNode":         neuronPluginStartsOnANewNode,
	})
	d.part(t, "SpotWarning_NodeIsReplacedBeforeItGoes", spotWarningReplacesTheNode)
	d.part(t, "Identity_NobodyUsesTheAdministratorsToken", identities)
}

// TestDaemonBroken runs the deployed daemon where something is broken for everybody: its
// parts come one after the other. First nothing is installed.
func TestDaemonBroken(t *testing.T) {
	d := startDaemonLab(t, lab.Options{})
	identities := d.identities(t)
	d.part(t, "Start_NamesWhatIsMissing", startNamesWhatIsMissing)
	d.part(t, "Shadow_RunsByTheGuideWithoutKarpenter", shadowRunsByTheGuide)
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	orphan := d.launchOrphans(t)

	d.withoutRules(t, func(t *testing.T) {
		lost := d.loseInstance(t)
		d.together(t, "WithoutEventRules", map[string]func(*testing.T, *daemonLab){
			"SpotWarning_NobodyHearsOfIt":                     nobodyHearsOfAWarning,
			"VanishedInstance_ItsNodeClaimGoesToo":            lost.isReplaced,
			"Orphan_InstanceIsEndedAfterTwoSweepsAndNoSooner": orphan.isEnded,
		})
	})
	d.part(t, "LostAnswer_SDKRetryGivesOneInstance", lostAnswerGivesOneInstance)
	d.part(t, "Kill9_BetweenCreateFleetAndItsAnswerGivesOneInstance", func(t *testing.T, d *daemonLab) { killBeforeTheAnswer(t, d, "killed", 0) })
	d.part(t, "Kill9_AlsoWhenEC2DoesNotShowTheInstanceYet", func(t *testing.T, d *daemonLab) { killBeforeTheAnswer(t, d, "blind", 8*time.Second) })
	d.part(t, "Leader_AnotherReplicaTakesOver", anotherReplicaTakesOver)
	d.part(t, "Market_ANewLeaderKnowsThePricesThoughAWSDoesNotAnswer", aNewLeaderKnowsThePrices)
	d.part(t, "Identity_NobodyUsesTheAdministratorsToken", identities)
}

// identities returns what checks, in the end, that nobody has been the administrator since.
func (d *daemonLab) identities(t *testing.T) func(*testing.T, *daemonLab) {
	t.Helper()
	launcher, err := d.AdminUserAgents()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	return func(t *testing.T, d *daemonLab) { d.ownIdentities(t, launcher, began) }
}

// ownIdentities checks that since the laboratory was started nobody has been
// the administrator, and who called AWS for what.
func (d *daemonLab) ownIdentities(t *testing.T, before map[string]int, since time.Time) {
	after, err := d.AdminUserAgents()
	if err != nil {
		t.Fatal(err)
	}
	for agent, n := range after {
		if n != before[agent] {
			t.Errorf("%d requests of %q came with the administrator's token", n-before[agent], agent)
		}
	}
	role := "arn:aws:sts::" + lab.Account + ":assumed-role/"
	owner := map[string]string{
		"CreateFleet": role + "controller/", "TerminateInstances": role + "controller/", "CreateLaunchTemplate": role + "controller/",
		"ReceiveMessage": role + "controller/",
	}
	seen := map[string]int{}
	for _, c := range d.Cloud.Calls() {
		if want, ok := owner[c.Action]; ok && c.Time.After(since) {
			seen[c.Action]++
			if !strings.HasPrefix(c.Identity, want) {
				t.Errorf("%s was called by %s, want %s", c.Action, c.Identity, want)
			}
		}
	}
	for action := range owner {
		if seen[action] == 0 {
			t.Errorf("nobody called %s: the check saw nothing", action)
		}
	}
}
