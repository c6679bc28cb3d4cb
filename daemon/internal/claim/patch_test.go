package claim

import "testing"

func TestMetaPatch_LeavesAloneWhatItDoesNotName(t *testing.T) {
	got := string(metaPatch("u", nil, map[string]string{"a": "1"}))
	if want := `{"metadata":{"annotations":{"a":"1"},"uid":"u"}}`; got != want {
		t.Errorf("patch = %s, want %s: null would remove every label", got, want)
	}
}
