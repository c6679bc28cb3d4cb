package facts

import (
	"bytes"
	"testing"
)

// DecodeTypes never panics. Types that it accepts are the same after they are
// written and read again.
func FuzzDecodeTypes(f *testing.F) {
	f.Add([]byte("source\tg\t2026-01-02\ta text\n"))
	f.Add(Types{}.Encode())
	f.Add([]byte("type\n\n\t\t\nm5.large\tamd64\n"))
	f.Add([]byte("m5.large\tamd64\t2\t8192\tintel\t3100\tnitro\t-\ton-demand,spot\t3\t10\t9\t750\t4750\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		types, err := DecodeTypes(data)
		if err != nil {
			return
		}
		text := types.Encode()
		again, err := DecodeTypes(text)
		if err != nil {
			t.Fatalf("what is written cannot be read: %v\n%s", err, text)
		}
		if twice := again.Encode(); !bytes.Equal(text, twice) {
			t.Fatalf("written %q, read and written %q", text, twice)
		}
	})
}

// DecodeMarket never panics. A market that it accepts is the same after it is
// written and read again.
func FuzzDecodeMarket(f *testing.F) {
	zone := "zone\tz-az1\tza\n"
	for _, s := range []string{
		"", zone + "m5.large\ta\t~0.1\t0.03\n", zone + zone + "m5.large\tba\t-\t0.03 .1\nspot\testimated\n", "source\n" + zone + "x\t-\t-\t-\n",
		zone + "m5.large\taa\t9223372036.9\t1 2\n", "type\nzone\nspot\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeMarket("r", data)
		if err != nil {
			return
		}
		for name, zones := range m.Offered {
			if spot := m.Spot[name]; spot != nil && len(spot) != len(zones) {
				t.Fatalf("%s: %d spot prices for %d zones", name, len(spot), len(zones))
			}
			for _, z := range zones {
				if z < 0 || z >= len(m.Zones) {
					t.Fatalf("%s is offered in zone %d of %d", name, z, len(m.Zones))
				}
			}
		}
		text := EncodeMarket(m)
		again, err := DecodeMarket("r", text)
		if err != nil {
			t.Fatalf("what is written cannot be read: %v\n%s", err, text)
		}
		if twice := EncodeMarket(again); !bytes.Equal(text, twice) {
			t.Fatalf("written %q, read and written %q", text, twice)
		}
	})
}
