package toolchain

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// noDebugData leaves out of a program what only debuggers read: half of a link.
// Stack traces stay as they are.
const noDebugData = "-s -w"

// maxBuilds is how many go builds run at once. One alone leaves cores idle while
// it waits for a package that many others need, or links its last program.
const maxBuilds = 2

// compilers is how many compilers each of so many go builds may run at once. A
// build that has the machine to itself gets a compiler for each core; of two, each
// gets half of them and one more, so that all cores are in use when one of the
// builds waits for a package, and memory holds what they need.
func compilers(cores, builds int) int {
	if builds < 2 {
		return cores
	}
	return max(2, cores/2+1)
}

// What the largest package here needs to be compiled (the EC2 client of the AWS SDK).
const compilerMemory = 3 << 30

// compilerEnv spares the compilers their garbage collections, where there is memory for
// all of them: 7 % of the processor time. What somebody has set already holds.
func compilerEnv(cores, builds int) []string {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	running := int64(max(1, min(builds, maxBuilds)) * compilers(cores, builds))
	if memoryAvailable("/proc/meminfo") < running*compilerMemory {
		return nil
	}
	return []string{"GOGC=off", fmt.Sprintf("GOMEMLIMIT=%d", int64(compilerMemory))}
}

// memoryAvailable is what Linux says there is for new programs; 0 elsewhere.
func memoryAvailable(meminfo string) int64 {
	text, err := os.ReadFile(meminfo)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 2 || string(fields[0]) != "MemAvailable:" {
			continue
		}
		kib, err := strconv.ParseInt(string(fields[1]), 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}

// compileFlags are flags of the compiler for all tools, so that what several of them need is
// compiled once. There is no debug data, which the linker would drop. Tools stay optimized: without
// optimization (-N -l) the control plane is built in two thirds of the processor time, but each
// start of it then takes 7 s of processor time instead of 4, and make test starts it some 70
// times: the second run of the tests would have paid for what the first build saved. `make
// bench-peer` has the same flags, so that it finds compiled what the tools needed.
func compileFlags() []string { return []string{"-gcflags=all=-dwarf=false"} }
