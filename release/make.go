package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// releaseTo makes the release of a version from the source in dir: the archives, their checksums and the list of
// modules.
func releaseTo(dir, dist, version string, chosen []target) error {
	work, err := os.MkdirTemp("", "rehearse-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	shared, err := sharedFiles(dir, work, version)
	if err != nil {
		return err
	}
	if err := emptied(dist); err != nil {
		return err
	}
	found := map[string]module{}
	programs := make([][]byte, len(chosen))
	var built stamp
	for i, t := range chosen {
		log.Printf("%s/%s", t.os, t.arch)
		program := filepath.Join(work, t.os+"-"+t.arch, t.binary())
		if err := build(dir, program, version, t); err != nil {
			return err
		}
		if built, err = readStamp(program, found); err != nil {
			return err
		}
		if programs[i], err = os.ReadFile(program); err != nil {
			return err
		}
	}
	modules, err := licensed(dir, built, found)
	if err != nil {
		return err
	}
	shared = append(shared, thirdParty(modules))
	var made []string
	for i, t := range chosen {
		files := append([]file{{name: t.binary(), data: programs[i], program: true}}, shared...)
		packed, err := pack(t, files, built.time)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, t.archive(version)), packed, 0o644); err != nil {
			return err
		}
		made = append(made, t.archive(version))
	}
	own, _, err := licenceIn(dir)
	if err != nil {
		return err
	}
	bill, err := sbom(version, own, built, modules)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, billName), bill, 0o644); err != nil {
		return err
	}
	return writeChecksums(dist, append(made, billName))
}

const (
	billName      = "sbom.spdx.json"
	checksumsName = "checksums.txt"
)

// emptied makes the folder of a release, without what an earlier one left.
func emptied(dist string) error {
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dist, "rehearse_*"))
	if err != nil {
		return err
	}
	for _, name := range append(old, filepath.Join(dist, checksumsName), filepath.Join(dist, billName)) {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// sharedFiles are what stands in each archive beside the program. The scripts are those that the program writes on this
// machine.
func sharedFiles(dir, work, version string) (files []file, err error) {
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, data: data})
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	program := filepath.Join(work, here.binary())
	if err := build(dir, program, version, here); err != nil {
		return nil, err
	}
	for _, s := range []struct{ shell, name string }{
		{"bash", "rehearse.bash"}, {"zsh", "_rehearse"}, {"fish", "rehearse.fish"}, {"powershell", "rehearse.ps1"},
	} {
		script, err := output(work, nil, program, "completion", s.shell)
		if err != nil {
			return nil, fmt.Errorf("completion of %s: %w", s.shell, err)
		}
		files = append(files, file{name: "completion/" + s.name, data: script})
	}
	return files, nil
}

// writeChecksums writes the SHA-256 sums of files as sha256sum does.
func writeChecksums(dist string, names []string) error {
	slices.Sort(names)
	var sums bytes.Buffer
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(dist, checksumsName), sums.Bytes(), 0o644)
}

// noTime is the time of files where no commit gives one; zip knows none before 1980.
var noTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
