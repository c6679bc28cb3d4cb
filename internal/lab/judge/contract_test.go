//go:build lab

package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// facts are what a case observed, by name: what both implementations must
// agree on, not whole answers.
type facts map[string]any

// contract is one case.
type contract struct {
	name string
	run  func(ctx context.Context, w *world) facts
	want facts
	// notOnMoto is the reason why moto does not pass, if it does not. That it
	// still does not is checked too.
	notOnMoto string
	// onMinistack: ministack judges what moto lacks.
	onMinistack bool
}

// contracts are all cases. Each makes what it needs under names of its own.
func contracts() []contract {
	return slices.Concat(
		templateContracts(), fleetContracts(), instanceContracts(), tagContracts(), networkContracts(), catalogueContracts(),
		roleContracts(), profileContracts(), policyContracts(),
		queueContracts(), eventContracts(), clusterContracts(), nodesContracts(), entryContracts(), associationContracts(), parameterContracts(), linkedRoleContracts(),
	)
}

// unexpected is the panic of need; observe turns it into an error.
type unexpected struct{ error }

// need gives the value of a call that must succeed for the case to go on.
func need[T any](v T, err error) T {
	if err != nil {
		panic(unexpected{err})
	}
	return v
}

// code is the AWS error code of an error; a fact.
func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return err.Error()
}

// errorOf is code for a call whose answer does not matter.
func errorOf[T any](_ T, err error) string { return code(err) }

// observe runs a case.
func observe(ctx context.Context, c contract, w *world) (got facts, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case unexpected:
			err = p.error
		default: // such as an answer that lacks a member
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.run(ctx, w), nil
}

// breach says how an implementation breaks a contract; "" where it does not.
func breach(ctx context.Context, c contract, w *world) string {
	got, err := observe(ctx, c, w)
	if err != nil {
		return err.Error()
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		return "(-want +got)\n" + diff
	}
	return ""
}

func TestContract_SimulatorAndOthersAgree(t *testing.T) {
	python, err := Python(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	moto, ministack := startMotoWorld(t, python), startMinistackWorld(t, python)
	simulator := startSimulatorWorld(t, nil)
	cases := contracts()
	byMoto, byMinistack, alone := 0, 0, 0
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if wrong := breach(t.Context(), c, simulator); wrong != "" {
				t.Errorf("on the simulator: %s", wrong)
			}
			wrong := breach(t.Context(), c, moto)
			switch {
			case c.notOnMoto != "" && wrong == "":
				t.Errorf("moto passes, but the case says that it cannot: %s", c.notOnMoto)
			case c.notOnMoto == "" && wrong != "":
				t.Errorf("on moto: %s", wrong)
			case c.notOnMoto == "":
				byMoto++
			case !c.onMinistack:
				alone++
			}
			if c.onMinistack {
				byMinistack++
				if wrong := breach(t.Context(), c, ministack); wrong != "" {
					t.Errorf("on ministack: %s", wrong)
				}
			}
		})
	}
	t.Logf("%d cases hold on the simulator: %d of them on moto, %d on ministack, %d on neither, each with its reason", len(cases), byMoto, byMinistack, alone)
	if alone*5 > len(cases) {
		t.Errorf("%d of %d cases have no other judge", alone, len(cases))
	}
}

func TestContract_NamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range contracts() {
		if seen[c.name] {
			t.Errorf("two cases are named %q", c.name)
		}
		seen[c.name] = true
	}
}

// sortedBy gives a member of each item, sorted.
func sortedBy[T any](items []T, member func(T) string) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, member(item))
	}
	slices.Sort(out)
	return out
}
