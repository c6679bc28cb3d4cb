package daemonlog_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/daemonlog"
)

func TestEntries_AreReadWithTheirFieldsAndNothingElse(t *testing.T) {
	const text = `panic: something
{"level":"INFO","time":"2026-01-02T03:04:05.000000006Z","logger":"karpenterd","message":"start","version":"1"}
{"other":"JSON"}

{"level":"WARN","time":"2026-01-02T03:04:06Z","logger":"karpenterd.loop","message":"launch nodeclaim","pods":3,"fields.message":"x"}
{"level":"INFO","mess`
	var got []daemonlog.Entry
	for e := range daemonlog.Entries([]byte(text)) {
		got = append(got, e)
	}
	if len(got) != 2 || got[0].Message != "start" || !got[0].Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)) || got[1].Level != "WARN" || got[1].Logger != "karpenterd.loop" {
		t.Fatalf("entries %+v", got)
	}
	var fields struct{ Pods int }
	if err := got[1].Fields(&fields); err != nil || fields.Pods != 3 {
		t.Errorf("fields %+v: %v", fields, err)
	}
	for range daemonlog.Entries([]byte(text)) {
		break // a reader may stop
	}
}
