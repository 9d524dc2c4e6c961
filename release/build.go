package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// source is a folder to build in.
type source struct {
	dir    string
	remove func()
}

// checkedOut returns the commit of a checkout in a folder of its own, without tags: they would be part of what is
// built, and not every clone has them. A checkout with changes is built where it is, and so is a folder that is none.
func checkedOut(dir string) (source, error) {
	here := source{dir: dir, remove: func() {}}
	changes, err := output(dir, nil, "git", "status", "--porcelain")
	if err != nil {
		log.Print("note: this is no git checkout: the program will not know its commit")
		return here, nil //nolint:nilerr // it is told
	}
	if len(changes) > 0 {
		log.Print("note: the checkout has changes: the program will say +dirty")
		return here, nil
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return here, err
	}
	clone, err := os.MkdirTemp("", "rehearse-source-")
	if err != nil {
		return here, err
	}
	clean := source{dir: clone, remove: func() { _ = os.RemoveAll(clone) }}
	if _, err := output(dir, nil, "git", "clone", "--quiet", "--shared", "--no-tags", "--config", "core.autocrlf=false",
		root, clone); err != nil {
		clean.remove()
		return here, err
	}
	return clean, nil
}

// build builds the program of a version for a target, with the compiler that this command was built with. What is set
// on this machine to build otherwise does not count.
func build(dir, to, version string, t target) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	fixed := []string{
		"GOTOOLCHAIN=" + runtime.Version(), "GOFLAGS=-trimpath", "GOWORK=off", "CGO_ENABLED=0", "GOOS=" + t.os,
		"GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG=",
	}
	_, err = output(dir, fixed, "go", "build", "-trimpath", "-ldflags=-s -w -X main.release="+version, "-o", to,
		"./cmd/rehearse")
	return err
}

// output runs a program with variables beside those of the environment. What it says on standard error is part of its
// error.
func output(dir string, variables []string, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...) //nolint:noctx // whoever releases ends it
	c.Dir, c.Env = dir, append(os.Environ(), variables...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err,
			bytes.TrimSpace(said.Bytes()))
	}
	return out.Bytes(), nil
}

// stamp says what a program was built from.
type stamp struct {
	commit, compiler string
	time             time.Time
}

// readStamp reads the stamp of a program, and adds the modules in it.
func readStamp(program string, modules map[string]module) (stamp, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return stamp{}, err
	}
	s := stamp{commit: "unknown", compiler: info.GoVersion, time: noTime}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			s.commit = setting.Value
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, setting.Value); err == nil && at.After(noTime) {
				s.time = at.UTC()
			}
		}
	}
	for _, dep := range info.Deps {
		used := dep
		if dep.Replace != nil {
			used = dep.Replace
		}
		modules[used.Path] = module{path: used.Path, version: used.Version}
	}
	return s, nil
}
