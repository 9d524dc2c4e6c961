package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// checkArchive unpacks the archive of a system, as someone who downloads it does, and runs its version and the
// quickstart of the repository.
func checkArchive(dist, repository, system, arch string) error {
	found, err := filepath.Glob(filepath.Join(dist, fmt.Sprintf("rehearse_*_%s_%s.*", system, arch)))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%d archives for %s/%s in %s: run `make release VERSION=1.2.3` first", len(found), system,
			arch, dist)
	}
	name := filepath.Base(found[0])
	data, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	if err := checkSum(dist, name, data); err != nil {
		return err
	}
	into, err := os.MkdirTemp("", "rehearse-check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(into) }()
	if err := unpack(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t := target{system, arch}
	version := strings.TrimPrefix(strings.SplitN(name, "_"+system+"_", 2)[0], "rehearse_")
	program := filepath.Join(into, t.binary())
	said, err := output(into, nil, program, "version")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(said), "rehearse "+version+" ") {
		return fmt.Errorf("%s holds %q", name, bytes.TrimSpace(said))
	}
	quickstart := filepath.Join(into, "quickstart")
	if err := os.CopyFS(quickstart, os.DirFS(filepath.Join(repository, "examples", "quickstart"))); err != nil {
		return err
	}
	if _, err := output(quickstart, nil, program, "run", "suite.yaml"); err != nil {
		return err
	}
	log.Printf("%s: %s, and the quickstart passes", name, bytes.TrimSpace(said))
	return nil
}

// checkSum compares an archive with its line of checksums.txt.
func checkSum(dist, name string, data []byte) error {
	sums, err := os.ReadFile(filepath.Join(dist, checksumsName))
	if err != nil {
		return err
	}
	if !bytes.Contains(sums, fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(data), name)) {
		return fmt.Errorf("%s does not have the sum that %s gives it", name, checksumsName)
	}
	return nil
}

// unpack writes the files of an archive into a folder.
func unpack(data []byte, into string) error {
	if zipped, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		return os.CopyFS(into, zipped)
	}
	squeezed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	archive := tar.NewReader(squeezed)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("file %q is outside of the archive", header.Name)
		}
		to := filepath.Join(into, header.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, content, header.FileInfo().Mode().Perm()); err != nil {
			return err
		}
	}
}
