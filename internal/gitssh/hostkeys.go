package gitssh

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
)

// kinds are the keys that the server proves itself with.
var kinds = []struct {
	file     string
	generate func() (crypto.PrivateKey, error)
	only     []string // algorithms
}{
	{"ssh_host_ed25519_key", func() (crypto.PrivateKey, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}, []string{ssh.KeyAlgoED25519}},
	{"ssh_host_ecdsa_key", func() (crypto.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }, []string{ssh.KeyAlgoECDSA256}},
	{"ssh_host_rsa_key", func() (crypto.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 3072) }, []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}},
}

// EnsureHostKeys reads the host keys of a folder, and makes those that are
// missing.
func EnsureHostKeys(dir string) ([]ssh.Signer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of host keys: %w", err)
	}
	var signers []ssh.Signer
	for _, kind := range kinds {
		path := filepath.Join(dir, kind.file)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = makeHostKey(path, kind.generate)
		} else if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = openToOthers(path)
		}
		if err != nil {
			return nil, err
		}
		signer, err := readHostKey(path, kind.only)
		if err != nil {
			return nil, err
		}
		signers = append(signers, signer)
	}
	return signers, nil
}

// CheckHostKeys reads the host keys of a folder and makes none. missing is how
// many the first start will make.
func CheckHostKeys(dir string) (missing int, err error) {
	for _, kind := range kinds {
		path := filepath.Join(dir, kind.file)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing++
			continue
		case err != nil:
			return 0, fmt.Errorf("reading a host key: %w", err)
		case info.Mode().Perm()&0o077 != 0:
			return 0, openToOthers(path)
		}
		if _, err := readHostKey(path, kind.only); err != nil {
			return 0, err
		}
	}
	return missing, nil
}

func openToOthers(path string) error {
	return fmt.Errorf("%s is open to others: chmod 600 %s", path, path)
}

func readHostKey(path string, only []string) (ssh.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a host key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s is no key: %w", path, err)
	}
	of, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return nil, fmt.Errorf("%s is a key of a kind that is not used", path)
	}
	return ssh.NewSignerWithAlgorithms(of, only)
}

// makeHostKey writes a new key. Of two processes that start at once, one key
// stays.
func makeHostKey(path string, generate func() (crypto.PrivateKey, error)) error {
	key, err := generate()
	if err != nil {
		return fmt.Errorf("making a host key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return fmt.Errorf("making a host key: %w", err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("making a host key: %w", err)
	}
	defer func() { _ = os.Remove(fresh.Name()) }()
	_, err = fresh.Write(pem.EncodeToMemory(block))
	if err := errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return fmt.Errorf("making a host key: %w", err)
	}
	if err := os.Link(fresh.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a host key: %w", err)
	}
	return nil
}
