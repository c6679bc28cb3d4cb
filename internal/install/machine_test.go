package install

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

// authority is a bundle of one certificate, as EKS has it.
func authority(t *testing.T) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString(certificate(t))
}

func certificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})
}

func TestParseClusterCA_TakesCertificatesInBase64(t *testing.T) {
	two := string(certificate(t)) + string(certificate(t))
	got, err := ParseClusterCA("\n" + base64.StdEncoding.EncodeToString([]byte(two)) + "\n")
	if err != nil || string(got) != two {
		t.Errorf("got %q, %v", got, err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	for name, c := range map[string]struct{ text, want string }{
		"not encoded":      {two, "cluster CA bundle: is PEM that is not in base64: give certificates in PEM, in base64"},
		"something else":   {"a b", "cluster CA bundle: is not in base64: give"},
		"no certificate":   {base64.StdEncoding.EncodeToString([]byte("hello")), "cluster CA bundle: has no certificate: give"},
		"a key among them": {base64.StdEncoding.EncodeToString(append([]byte(two), key...)), `cluster CA bundle: has a block "PRIVATE KEY" that is no certificate: give`},
	} {
		if _, err := ParseClusterCA(c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestParseMemoryOverhead_IsAPartAndNoPercentage(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "0.075": 75_000, "0.0375": 37_500, ".5": 500_000, "1e-6": 1} {
		if got, err := ParseMemoryOverhead(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, wrong := range []string{"", "7.5", "1", "-0.1", "7.5%", "NaN", "Inf"} {
		if _, err := ParseMemoryOverhead(wrong); err == nil || !strings.Contains(err.Error(), "must be the part of an instance's memory from 0 to below 1") {
			t.Errorf("%q: error %v", wrong, err)
		}
	}
}

func TestParseReservedENIs_IsAWholeNumber(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "1": 1, "100": 100} {
		if got, err := ParseReservedENIs(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, wrong := range []string{"", "one", "1.5", "-1", "101"} {
		if _, err := ParseReservedENIs(wrong); err == nil || !strings.Contains(err.Error(), "from 0 to 100") {
			t.Errorf("%q: error %v", wrong, err)
		}
	}
}
