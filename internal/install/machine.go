package install

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What the daemon is told of all instances and of what they trust.

// MostReservedENIs bounds the option of this name: no instance has more.
const MostReservedENIs = 100

// CheckReservedENIs returns an error unless so many network interfaces of each instance may be
// kept from pods.
func CheckReservedENIs(n int64) error {
	if n < 0 || n > MostReservedENIs {
		return fmt.Errorf("reserved network interfaces %d: must be from 0 to %d, such as 1 for custom networking of the VPC CNI, which gives pods no address of the primary interface", n, MostReservedENIs)
	}
	return nil
}

// ParseReservedENIs reads how many network interfaces of each instance are kept from pods.
func ParseReservedENIs(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("reserved network interfaces %q: must be a number from 0 to %d", text, MostReservedENIs)
	}
	return int(n), CheckReservedENIs(n)
}

// ParseMemoryOverhead reads which part of the memory that EC2 names an instance does not report,
// in millionths. Karpenter's name for it has "percent", and its value is the part, too.
func ParseMemoryOverhead(text string) (perMillion int64, err error) {
	part, err := strconv.ParseFloat(text, 64)
	if err != nil || !(part >= 0 && part < 1) {
		return 0, fmt.Errorf("VM memory overhead %q: must be the part of an instance's memory from 0 to below 1 that its node does not report, such as %s for 7.5 %%", text, DefaultMemoryOverhead)
	}
	return int64(math.Round(part * 1e6)), nil
}

// CheckMemoryOverhead returns an error if ParseMemoryOverhead cannot read the text.
func CheckMemoryOverhead(text string) error {
	_, err := ParseMemoryOverhead(text)
	return err
}

// ParseClusterCA reads the certificates by which nodes know the API server: PEM in base64, as
// EKS has them. It returns the PEM.
func ParseClusterCA(text string) ([]byte, error) {
	fault := func(err error) error {
		return fmt.Errorf("cluster CA bundle: %w: give certificates in PEM, in base64, as certificate_authority of an EKS cluster has them; without it nodes trust what EKS reports", err)
	}
	if strings.Contains(text, "-----BEGIN") {
		return nil, fault(errors.New("is PEM that is not in base64"))
	}
	bundle, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, fault(errors.New("is not in base64"))
	}
	certificates := 0
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); block.Type != "CERTIFICATE" || err != nil {
			return nil, fault(fmt.Errorf("has a block %q that is no certificate", block.Type))
		}
		certificates++
	}
	if certificates == 0 {
		return nil, fault(errors.New("has no certificate"))
	}
	return bundle, nil
}

// CheckClusterCA returns an error if ParseClusterCA cannot read the text.
func CheckClusterCA(text string) error {
	_, err := ParseClusterCA(text)
	return err
}
