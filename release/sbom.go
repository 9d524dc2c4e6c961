package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

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

// sbom lists the program and its modules, with version and licence.
func sbom(version, licence string, built stamp, modules []module) ([]byte, error) {
	program := packageOf("rehearse", version, licence)
	d := spdxDocument{
		Version: "SPDX-2.3", DataLicence: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "rehearse-" + version,
		Namespace: fmt.Sprintf("https://spdx.org/spdxdocs/rehearse-%s-%s", version, built.commit),
		Creation:  spdxCreation{Created: built.time.Format(time.RFC3339), Creators: []string{"Tool: rehearse-release"}},
		Describes: []string{program.ID}, Packages: []spdxPackage{program},
		Relationships: []spdxRelation{{"SPDXRef-DOCUMENT", "DESCRIBES", program.ID}},
	}
	for _, m := range modules {
		p := packageOf(m.path, m.version, m.licence)
		locator := "pkg:golang/" + m.path + "@" + strings.TrimPrefix(m.version, "go")
		p.References = []spdxReference{{"PACKAGE-MANAGER", "purl", locator}}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, spdxRelation{program.ID, "DEPENDS_ON", p.ID})
	}
	data, err := json.MarshalIndent(d, "", "  ")
	return append(data, '\n'), err
}

var noID = regexp.MustCompile(`[^0-9A-Za-z.-]+`)

func packageOf(name, version, licence string) spdxPackage {
	return spdxPackage{
		Name: name, ID: "SPDXRef-Package-" + noID.ReplaceAllString(name, "-"), Version: version,
		Download: "NOASSERTION", LicenceConcluded: licence, LicenceDeclared: licence, Copyright: "NOASSERTION",
	}
}
