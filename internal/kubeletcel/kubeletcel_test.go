package kubeletcel_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kubeletcel"
)

func machine() kubeletcel.Machine {
	return kubeletcel.Machine{InstanceType: "m5.large", VCPUs: 2, MemoryMiB: 8192, DefaultENIs: 3, IPsOfENI: 10, MaxPods: 29}
}

func TestEvaluate_GivesTheNumberOfTheMachine(t *testing.T) {
	for text, want := range map[string]int64{
		"110": 110,
		"(default_enis - 1) * (ips_per_eni - 1) + 2": 20,
		"min(110, max_pods)":                         29,
		"max(60, vcpus * 30)":                        60,
		"max(1.5, 2)":                                2,
		"min(2.9, 3)":                                2, // without its fraction
		"double(memory_mib) * 0.015":                 122,
		"instance_type.startsWith('m5.') ? 17 : 8":   17,
		"-1": -1,
	} {
		e, err := kubeletcel.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Evaluate(machine()); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestCompile_RefusesWhatIsNoExpressionForANumber(t *testing.T) {
	for text, want := range map[string]string{
		"vcpus *":                        "Syntax error",
		"cores * 2":                      "undeclared reference to 'cores'",
		"'110'":                          "the result is of type string, and must be a number",
		"vcpus > 2":                      "the result is of type bool, and must be a number",
		"vcpus * 1.5":                    "found no matching overload",
		strings.Repeat("1+", 3000) + "1": "more than 4096 bytes",
	} {
		if _, err := kubeletcel.Compile(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.30s: %v, want %q on one line", text, err, want)
		}
	}
}

func TestEvaluate_SaysWhatHasNoResult(t *testing.T) {
	for text, want := range map[string]string{
		"vcpus / (max_pods - 29)":     "division by zero",
		"1.0 / 0.0":                   "no number that fits",
		"9223372036854775807 + vcpus": "overflow",
	} {
		e, err := kubeletcel.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Evaluate(machine()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v, want %q", text, got, err, want)
		}
	}
}

// The cost of an expression is bounded, whoever has written it.
func TestEvaluate_EndsAnExpressionThatTakesTooLong(t *testing.T) {
	const ten = "[1,2,3,4,5,6,7,8,9,10]"
	e, err := kubeletcel.Compile(ten + ".map(a, " + ten + ".map(b, " + ten + ".map(c, " + ten + ".map(d, " + ten + ".map(e, a * b * c * d * e))))).size()")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Evaluate(machine()); err == nil || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("%d, %v", got, err)
	}
}
