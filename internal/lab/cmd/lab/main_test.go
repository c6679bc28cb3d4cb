package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestRun_WrongUsageSaysWhatIsRight(t *testing.T) {
	for _, c := range []struct {
		args []string
		is   error
		says string
	}{
		{nil, errUsage, "usage:"},
		{[]string{"down"}, errUsage, "lab up"},
		{[]string{"demo", "x"}, errUsage, "no arguments"},
		{[]string{"up", "x"}, errUsage, "takes flags only"},
		{[]string{"up", "-log-level=loud"}, errUsage, "-log-level"},
		{[]string{"up", "-time-factor=0.5"}, errUsage, "-time-factor"},
		{[]string{"up", "-nope"}, errUsage, "-nope"},
		{[]string{"up", "-h"}, flag.ErrHelp, "-time-factor"},
	} {
		var out, errOut bytes.Buffer
		err := run(t.Context(), c.args, &out, &errOut)
		if !errors.Is(err, c.is) || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("lab %v: %v, said %q; want %v and %q", c.args, err, errOut.String(), c.is, c.says)
		}
	}
}
