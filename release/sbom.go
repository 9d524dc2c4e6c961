package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// module is one that the program is built from.
type module struct{ path, version string }

// The list of modules is SPDX 2.3: https://spdx.github.io/spdx-spec/v2.3/.
type (
	spdxDocument struct {
		Version       string         `json:"spdxVersion"`
		DataLicence   string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      spdxCreation   `json:"creationInfo"`
		Describes     []string       `json:"documentDescribes"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []spdxRelation `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		Name             string          `json:"name"`
		ID               string          `json:"SPDXID"`
		Version          string          `json:"versionInfo"`
		Download         string          `json:"downloadLocation"`
		Analyzed         bool            `json:"filesAnalyzed"`
		LicenceConcluded string          `json:"licenseConcluded"`
		LicenceDeclared  string          `json:"licenseDeclared"`
		Copyright        string          `json:"copyrightText"`
		References       []spdxReference `json:"externalRefs,omitempty"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// sbom lists the program, the standard library and every module in it, with version and licence. A licence that cannot be told is an error.
func sbom(dir, version string, built stamp, modules map[string]module) ([]byte, error) {
	own, err := licenceIn(dir)
	if err != nil {
		return nil, err
	}
	program := packageOf("rehearse", version, own)
	d := spdxDocument{
		Version: "SPDX-2.3", DataLicence: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "rehearse-" + version,
		Namespace: fmt.Sprintf("https://spdx.org/spdxdocs/rehearse-%s-%s", version, built.commit),
		Creation:  spdxCreation{Created: built.time.Format(time.RFC3339), Creators: []string{"Tool: rehearse-release"}},
		Describes: []string{program.ID}, Packages: []spdxPackage{program},
		Relationships: []spdxRelation{{"SPDXRef-DOCUMENT", "DESCRIBES", program.ID}},
	}
	add := func(p spdxPackage, locator string) {
		p.References = []spdxReference{{"PACKAGE-MANAGER", "purl", locator}}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, spdxRelation{program.ID, "DEPENDS_ON", p.ID})
	}
	add(packageOf("stdlib", built.compiler, "BSD-3-Clause"), "pkg:golang/stdlib@"+strings.TrimPrefix(built.compiler, "go"))
	for _, m := range sorted(modules) {
		folder, err := output(dir, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.path)
		if err != nil {
			return nil, err
		}
		licence, err := licenceIn(strings.TrimSpace(string(folder)))
		if err != nil {
			return nil, fmt.Errorf("module %s %s: %w", m.path, m.version, err)
		}
		add(packageOf(m.path, m.version, licence), "pkg:golang/"+m.path+"@"+m.version)
	}
	data, err := json.MarshalIndent(d, "", "  ")
	return append(data, '\n'), err
}

var noID = regexp.MustCompile(`[^0-9A-Za-z.-]+`)

func packageOf(name, version, licence string) spdxPackage {
	return spdxPackage{
		Name: name, ID: "SPDXRef-Package-" + noID.ReplaceAllString(name, "-"), Version: version, Download: "NOASSERTION",
		LicenceConcluded: licence, LicenceDeclared: licence, Copyright: "NOASSERTION",
	}
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)(\.(txt|md))?$`)
	blanks      = regexp.MustCompile(`[\s*#>]+`)
)

// licenceIn tells the licence of a module by the sentences of its licence file, as an expression of SPDX.
func licenceIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		if found := licencesOf(string(data)); len(found) > 0 {
			return strings.Join(found, " AND "), nil
		}
	}
	return "", fmt.Errorf("no licence that is known in %s", filepath.Base(dir))
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
	isc := has("permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted") ||
		has("permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted")
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
