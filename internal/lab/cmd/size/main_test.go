package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun_WrongUsageSaysWhatIsRight(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-nope"}, "-nope"},
		{[]string{"x"}, "takes flags only"},
		{[]string{"-nodes=0"}, "at least 2 nodes"},
		{[]string{"-fleet=-1"}, "at least 1 node"},
	} {
		var out, errOut bytes.Buffer
		err := run(t.Context(), c.args, &out, &errOut)
		if err == nil || !strings.Contains(err.Error()+errOut.String(), c.says) {
			t.Errorf("size %v: %v, said %q; want %q", c.args, err, errOut.String(), c.says)
		}
	}
}
