package main

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// standIn is the name under which this program signs in a rehearsal, as GnuPG would: the
// release's key is on no machine that rehearses, and GnuPG need not be there.
const standIn = "gpg"

// keyVariable names the file with the key of the rehearsal.
const keyVariable = "KARPENTERD_REHEARSAL_KEY"

var errSigning = errors.New("the rehearsal signs as .goreleaser.yml says, and that is wrong")

// newKey makes a key as the registries take it: RSA.
func newKey() (*openpgp.Entity, error) {
	key, err := openpgp.NewEntity("rehearsal", "", "", &packet.Config{RSABits: 2048, Algorithm: packet.PubKeyAlgoRSA, DefaultHash: crypto.SHA256})
	if err != nil {
		return nil, fmt.Errorf("key make: %w", err)
	}
	return key, nil
}

// keepKey writes the key to a file.
func keepKey(key *openpgp.Entity, file string) error {
	var text bytes.Buffer
	if err := key.SerializePrivate(&text, nil); err != nil {
		return fmt.Errorf("key write: %w", err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("key write: %w", err)
	}
	return nil
}

func fingerprint(key *openpgp.Entity) string {
	return strings.ToUpper(hex.EncodeToString(key.PrimaryKey.Fingerprint))
}

// signAs signs as gpg does with these arguments. Arguments that a release does not use are
// errors.
func signAs(keyFile string, args []string) error {
	flags := flag.NewFlagSet(standIn, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	batch := flags.Bool("batch", false, "")
	user := flags.String("local-user", "", "")
	out := flags.String("output", "", "")
	detached := flags.Bool("detach-sign", false, "")
	armored := flags.Bool("armor", false, "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errSigning, err)
	}
	if !*batch || !*detached || *out == "" || flags.NArg() != 1 {
		return fmt.Errorf("%w: gpg is given %q, and must make a detached signature of one file, without questions", errSigning, args)
	}
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return fmt.Errorf("key read: %w", err)
	}
	keys, err := openpgp.ReadKeyRing(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("key read: %w", err)
	}
	if fingerprint(keys[0]) != *user {
		return fmt.Errorf("%w: the key is %s, and gpg is asked for %q", errSigning, fingerprint(keys[0]), *user)
	}
	signed, err := os.Open(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("file read: %w", err)
	}
	defer func() { _ = signed.Close() }()
	sign := openpgp.DetachSign
	if *armored {
		sign = openpgp.ArmoredDetachSign
	}
	var signature bytes.Buffer
	if err := sign(&signature, keys[0], signed, nil); err != nil {
		return fmt.Errorf("file sign: %w", err)
	}
	if err := os.WriteFile(*out, signature.Bytes(), 0o600); err != nil {
		return fmt.Errorf("signature write: %w", err)
	}
	return nil
}
