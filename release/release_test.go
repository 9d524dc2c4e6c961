package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSameBytes releases one commit from two folders, of which one has a tag and other settings of the compiler: the
// files are the same, and the archive holds a program that knows its version and commit, and passes the quickstart.
func TestSameBytes(t *testing.T) {
	here := target{runtime.GOOS, runtime.GOARCH}
	var dists []string
	for i, machine := range []map[string]string{
		{},
		{"GOAMD64": "v3", "GOFLAGS": "-tags=other", "CGO_ENABLED": "1", "TZ": "Asia/Tokyo"},
	} {
		for name, value := range machine {
			t.Setenv(name, value)
		}
		checkout := commit(t)
		if i == 1 {
			run(t, checkout, "git", "tag", "v0.9.9")
		}
		src, err := checkedOut(checkout)
		if err != nil {
			t.Fatal(err)
		}
		defer src.remove()
		dist := filepath.Join(t.TempDir(), "dist")
		if err := releaseTo(src.dir, dist, "1.2.3-rc.1", []target{here}); err != nil {
			t.Fatal(err)
		}
		dists = append(dists, dist)
	}
	names := []string{checksumsName, here.archive("1.2.3-rc.1"), billName}
	slices.Sort(names)
	var listed []string
	entries, err := os.ReadDir(dists[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		listed = append(listed, entry.Name())
	}
	if !slices.Equal(listed, names) {
		t.Errorf("the release has %q, want %q", listed, names)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, dists[0], name), read(t, dists[1], name)) {
			t.Errorf("%s differs between two folders with the same commit", name)
		}
	}
	into := t.TempDir()
	if err := unpack(read(t, dists[0], here.archive("1.2.3-rc.1")), into); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		here.binary(), "LICENSE", "THIRD_PARTY_LICENSES", "README.md", "completion/rehearse.bash",
		"completion/_rehearse", "completion/rehearse.fish", "completion/rehearse.ps1",
	} {
		if len(read(t, into, name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	if size := len(read(t, dists[0], here.archive("1.2.3-rc.1"))); size > 120_000_000 {
		t.Errorf("the archive has %d bytes", size)
	}
	said := run(t, into, filepath.Join(into, here.binary()), "version")
	if !strings.HasPrefix(said, "rehearse 1.2.3-rc.1 (commit ") || strings.Contains(said, "unknown") ||
		strings.Contains(said, "dirty") {
		t.Errorf("version says %q", said)
	}
	if err := checkArchive(dists[0], "..", here.os, here.arch); err != nil {
		t.Error(err)
	}
	program := filepath.Join(into, here.binary())
	listsEveryModule(t, read(t, dists[0], billName), program)
	hasEveryLicence(t, string(read(t, into, "THIRD_PARTY_LICENSES")), program)
	inArchive := read(t, into, "THIRD_PARTY_LICENSES")
	if err := writeLicences("..", program); err != nil { // as the Dockerfile does
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, into, "THIRD_PARTY_LICENSES"), inArchive) {
		t.Error("an image has other licences than an archive")
	}
}

// hasEveryLicence checks that the file with licences has the text of each module in the program.
func hasEveryLicence(t *testing.T, texts, program string) {
	t.Helper()
	modules := map[string]module{}
	built, err := readStamp(program, modules)
	if err != nil {
		t.Fatal(err)
	}
	modules[stdlib] = module{path: stdlib, version: built.compiler}
	for _, m := range modules {
		_, text, found := strings.Cut(texts, "\n"+m.path+" "+m.version+": ")
		text, _, _ = strings.Cut(text, strings.Repeat("=", 80))
		if licence, text, _ := strings.Cut(text, "\n"); !found || strings.Join(licencesOf(text), " ") == "" ||
			licence == "" {
			t.Errorf("%s %s: licence %q of %d bytes", m.path, m.version, licence, len(text))
		}
	}
	for _, notice := range []string{"MinIO Cloud Storage, (C)", "Additional IP Rights Grant"} {
		if !strings.Contains(texts, notice) {
			t.Errorf("the notice %q is missing", notice)
		}
	}
}

// listsEveryModule checks the list of modules against what the compiler wrote into the program.
func listsEveryModule(t *testing.T, bill []byte, program string) {
	t.Helper()
	var d spdxDocument
	if err := json.Unmarshal(bill, &d); err != nil {
		t.Fatal(err)
	}
	listed, ids := map[string]spdxPackage{}, map[string]bool{}
	for _, p := range d.Packages {
		if p.LicenceDeclared == "" || p.LicenceDeclared == "NOASSERTION" || p.Version == "" || ids[p.ID] {
			t.Errorf("package %+v", p)
		}
		listed[p.Name], ids[p.ID] = p, true
	}
	modules := map[string]module{}
	if _, err := readStamp(program, modules); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if listed[m.path].Version != m.version {
			t.Errorf("%s is listed with version %q, want %q", m.path, listed[m.path].Version, m.version)
		}
	}
	if len(modules) < 20 || len(listed) != len(modules)+2 {
		t.Errorf("%d modules, %d listed", len(modules), len(listed))
	}
	if listed["github.com/spf13/cobra"].LicenceDeclared != "Apache-2.0" ||
		listed["rehearse"].LicenceDeclared != "Apache-2.0" {
		t.Errorf("licences of cobra and the program: %q, %q", listed["github.com/spf13/cobra"].LicenceDeclared,
			listed["rehearse"].LicenceDeclared)
	}
}

// TestPack: files have one time and one mode and no owner, and the program may be run.
func TestPack(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 8, 0, time.UTC)
	files := []file{
		{name: "rehearse", data: []byte("program"), program: true},
		{name: "completion/_rehearse", data: []byte("script")},
	}
	packed, err := pack(target{"darwin", "arm64"}, files, at)
	if err != nil {
		t.Fatal(err)
	}
	squeezed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(squeezed)
	for _, f := range files {
		h, err := archive.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != f.name || !h.ModTime.Equal(at) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" ||
			fs.FileMode(h.Mode) != f.mode() {
			t.Errorf("header %+v", h)
		}
	}
	packed, err = pack(target{"windows", "amd64"}, files, at)
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range zipped.File {
		if f.Name != files[i].name || !f.Modified.Equal(at) || f.Mode() != files[i].mode() {
			t.Errorf("header %+v", f.FileHeader)
		}
	}
}

// TestCheckRefuses: an archive that is not there, or not the one of the checksums, is no release.
func TestCheckRefuses(t *testing.T) {
	dist := t.TempDir()
	if err := checkArchive(dist, "..", "linux", "amd64"); err == nil || !strings.Contains(err.Error(), "make release") {
		t.Errorf("without an archive: %v", err)
	}
	name := target{"linux", "amd64"}.archive("1.2.3")
	if err := os.WriteFile(filepath.Join(dist, name), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeChecksums(dist, []string{name}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dist, name), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkArchive(dist, "..", "linux", "amd64"); err == nil || !strings.Contains(err.Error(), "sum") {
		t.Errorf("with another archive than that of the sums: %v", err)
	}
}

func TestCheckVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"1.2.3": true, "1.2.3-rc.1": true, "": false, "../1": false, "1 2": false, "-X": false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestLicences(t *testing.T) {
	bsd := "Redistribution and use in source and binary forms, with or without\nmodification, are permitted"
	isc := "Permission to use, copy, modify, and/or distribute this software for any\n" +
		"purpose with or without fee is hereby granted"
	for _, c := range []struct{ text, want string }{
		{"   Apache License\n   Version 2.0, January 2004", "Apache-2.0"},
		{"Permission is hereby granted, free of charge, to any person\nobtaining a copy of this", "MIT"},
		{bsd, "BSD-2-Clause"},
		{bsd + "\n * may be used to endorse or promote products derived", "BSD-3-Clause"},
		{isc + ", provided that the above copyright notice and this permission notice appear in all copies.", "ISC"},
		{isc + ".", "0BSD"},
		{"Apache License\nVersion 2.0\n" + bsd, "Apache-2.0 BSD-2-Clause"},
		{"All rights reserved.", ""},
	} {
		if got := strings.Join(licencesOf(c.text), " "); got != c.want {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("Ask me."), 0o600); err != nil {
		t.Fatal(err)
	}
	if licence, _, err := licenceIn(dir); err == nil {
		t.Errorf("a licence that nobody knows is %q", licence)
	}
}

// commit makes a checkout of the repository as it stands here, the same commit every time.
func commit(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist", ".rehearse", "node_modules"}, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path[2:]), 0o755)
		case !d.Type().IsRegular() || filepath.Ext(path) == ".test":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path[2:]), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(to, ".git")); err != nil { // a worktree has a file of this name
		t.Fatal(err)
	}
	for _, name := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		t.Setenv(name+"_NAME", "t")
		t.Setenv(name+"_EMAIL", "t@example.org")
		t.Setenv(name+"_DATE", "2026-03-04T05:06:07Z")
	}
	run(t, to, "git", "init", "-q", "-b", "main")
	run(t, to, "git", "add", ".")
	run(t, to, "git", "commit", "-q", "-m", "all")
	return to
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := output(dir, nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
