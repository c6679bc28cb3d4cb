// Package kubeletcel evaluates the expressions that an EC2NodeClass has in the place of
// numbers: spec.kubelet.maxPods, and values of kubeReserved and systemReserved. They are
// written in CEL (https://cel.dev), with the variables and functions that Karpenter 1.15 has
// for them:
//
//	vcpus, memory_mib, default_enis, ips_per_eni, max_pods  whole numbers, of the instance type
//	instance_type                                           its name
//	max(a, b), min(a, b)                                    of whole numbers and others
//
// The package is pure, and what an expression costs is bounded: its length when it is
// compiled, and its steps when it is evaluated.
package kubeletcel

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Machine is what an expression can ask of an instance type.
type Machine struct {
	InstanceType          string
	VCPUs, MemoryMiB      int64
	DefaultENIs, IPsOfENI int64
	MaxPods               int64 // without an expression, or by the one of maxPods
}

const (
	maxBytes = 4096   // of an expression
	maxCost  = 10_000 // of an evaluation, in the units of CEL's cost: about an operation each
)

// Expression is a compiled expression. It is safe for concurrent use.
type Expression struct{ program cel.Program }

// Compile reads the expression and checks its type, a number.
func Compile(text string) (Expression, error) {
	if len(text) > maxBytes {
		return Expression{}, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	env, err := shared()
	if err != nil {
		return Expression{}, fmt.Errorf("expression environment: %w", err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return Expression{}, errors.New(firstIssue(issues))
	}
	if kind := ast.OutputType(); kind != cel.IntType && kind != cel.DoubleType {
		return Expression{}, fmt.Errorf("the result is of type %s, and must be a number", kind)
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return Expression{}, fmt.Errorf("expression compile: %w", err)
	}
	return Expression{program}, nil
}

// firstIssue is the first thing that is wrong, on one line and without its place in a text
// of one line.
func firstIssue(issues *cel.Issues) string {
	return strings.Join(strings.Fields(issues.Errors()[0].Message), " ")
}

// Evaluate returns the number for the machine, without its fraction. It may be negative.
func (e Expression) Evaluate(m Machine) (int64, error) {
	result, _, err := e.program.Eval(map[string]any{
		"vcpus": m.VCPUs, "memory_mib": m.MemoryMiB, "default_enis": m.DefaultENIs, "ips_per_eni": m.IPsOfENI, "max_pods": m.MaxPods, "instance_type": m.InstanceType,
	})
	if err != nil {
		return 0, err //nolint:wrapcheck // its texts are about the expression, such as "division by zero"
	}
	switch n := result.Value().(type) {
	case int64:
		return n, nil
	case float64:
		if math.IsNaN(n) || n >= math.MaxInt64 || n <= math.MinInt64 {
			return 0, fmt.Errorf("the result %v is no number that fits", n)
		}
		return int64(n), nil
	}
	return 0, fmt.Errorf("the result is of type %s, and must be a number", result.Type())
}

//nolint:gochecknoglobals // made once for the whole process, as it takes longer than an expression; nothing else is ever assigned
var shared = sync.OnceValues(environment)

func environment() (*cel.Env, error) {
	options := []cel.EnvOption{cel.Variable("instance_type", cel.StringType), choice("max", types.IntOne), choice("min", types.IntNegOne)}
	for _, name := range []string{"vcpus", "memory_mib", "default_enis", "ips_per_eni", "max_pods"} {
		options = append(options, cel.Variable(name, cel.IntType))
	}
	return cel.NewEnv(options...)
}

// choice is the function that returns the one of two numbers which compares to the other as
// wanted. Of a whole number and another one it returns no whole number.
func choice(name string, wanted types.Int) cel.EnvOption {
	overload := func(a, b, result *cel.Type) cel.FunctionOpt {
		return cel.Overload(fmt.Sprintf("%s_%s_%s", name, a, b), []*cel.Type{a, b}, result, cel.BinaryBinding(func(x, y ref.Val) ref.Val {
			chosen := y
			if comparer, can := x.(traits.Comparer); can && comparer.Compare(y) == wanted {
				chosen = x
			}
			if result == cel.DoubleType {
				return chosen.ConvertToType(types.DoubleType)
			}
			return chosen
		}))
	}
	return cel.Function(name,
		overload(cel.IntType, cel.IntType, cel.IntType), overload(cel.DoubleType, cel.DoubleType, cel.DoubleType),
		overload(cel.IntType, cel.DoubleType, cel.DoubleType), overload(cel.DoubleType, cel.IntType, cel.DoubleType))
}
