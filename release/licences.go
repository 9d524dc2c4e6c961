package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one that the program is built from, with its licence as an expression of SPDX, and the texts that go with
// it.
type module struct{ path, version, licence, texts string }

// stdlib is the path of the standard library among modules.
const stdlib = "stdlib"

// licensed returns the standard library and the modules in the order of their paths, with their licences. A missing or
// an unknown licence is an error.
func licensed(dir string, built stamp, modules map[string]module) ([]module, error) {
	root, err := output(dir, []string{"GOTOOLCHAIN=" + built.compiler}, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{stdlib: strings.TrimSpace(string(root))}
	list := []module{{path: stdlib, version: built.compiler}}
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, m := range modules {
		list, args = append(list, m), append(args, m.path)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.path, b.path) })
	lines, err := output(dir, nil, "go", args...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(lines)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[path] = folder
	}
	for i, m := range list {
		if list[i].licence, list[i].texts, err = licenceIn(folders[m.path]); err != nil {
			return nil, fmt.Errorf("module %s %s: %w", m.path, m.version, err)
		}
	}
	return list, nil
}

// thirdParty is the file with the licences of all modules. Most of them require that it comes with the program.
func thirdParty(modules []module) file {
	var b bytes.Buffer
	for _, m := range modules {
		fmt.Fprintf(&b, "%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, m.licence, m.texts)
	}
	return file{name: "THIRD_PARTY_LICENSES", data: b.Bytes()}
}

// writeLicences writes the licences of a program's modules into its folder. It was built from the source in dir.
func writeLicences(dir, program string) error {
	found := map[string]module{}
	built, err := readStamp(program, found)
	if err != nil {
		return err
	}
	modules, err := licensed(dir, built, found)
	if err != nil {
		return err
	}
	made := thirdParty(modules)
	return os.WriteFile(filepath.Join(filepath.Dir(program), made.name), made.data, 0o644)
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)(\.(txt|md))?$`)
	legalFile   = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)`)
	blanks      = regexp.MustCompile(`[\s*#>]+`)
)

// licenceIn identifies the licence of a module by the sentences of its licence file, as an expression of SPDX. The
// texts are those of its licences and notices.
func licenceIn(dir string) (licence, texts string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !legalFile.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", "", err
		}
		texts += strings.ToValidUTF8(strings.TrimRight(string(data), "\r\n"), "\uFFFD") + "\n\n"
		if licence == "" && licenceFile.MatchString(entry.Name()) {
			licence = strings.Join(licencesOf(string(data)), " AND ")
		}
	}
	if licence == "" {
		return "", "", fmt.Errorf("no licence that is known in %s", filepath.Base(dir))
	}
	return licence, texts, nil
}

// licencesOf names the licences whose sentences stand in a text, each once.
func licencesOf(text string) (found []string) {
	text = strings.ToLower(blanks.ReplaceAllString(text, " "))
	has := func(sentence string) bool { return strings.Contains(text, sentence) }
	add := func(name string, is bool) {
		if is {
			found = append(found, name)
		}
	}
	bsd := has("redistribution and use in source and binary forms")
	endorse := has("endorse or promote products")
	isc := has("permission to use, copy, modify, and/or distribute this software for any purpose with or without fee "+
		"is hereby granted") ||
		has("permission to use, copy, modify, and distribute this software for any purpose with or without fee is "+
			"hereby granted")
	kept := has("provided that the above copyright notice and this permission notice appear in all copies")
	add("Apache-2.0", has("apache license version 2.0") || has("apache license, version 2.0"))
	add("MIT", has("permission is hereby granted, free of charge, to any person obtaining a copy"))
	add("BSD-3-Clause", bsd && endorse)
	add("BSD-2-Clause", bsd && !endorse)
	add("ISC", isc && kept)
	add("0BSD", isc && !kept)
	add("MPL-2.0", has("mozilla public license version 2.0") || has("mozilla public license, version 2.0"))
	add("Unlicense", has("this is free and unencumbered software released into the public domain"))
	return found
}
