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
		{[]string{"-share=1"}, "below 1"},
		{[]string{"-seed=1", "-pods=0"}, "give 1 to 3000"},
		{[]string{"-watch=1m"}, "at least 1m10s"},
		{[]string{"-grace=10ms"}, "whole seconds"},
	} {
		var out, errOut bytes.Buffer
		err := run(t.Context(), c.args, &out, &errOut)
		if err == nil || !strings.Contains(err.Error()+errOut.String(), c.says) {
			t.Errorf("scalein %v: %v, said %q; want %q", c.args, err, errOut.String(), c.says)
		}
	}
}
