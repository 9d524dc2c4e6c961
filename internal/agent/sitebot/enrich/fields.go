package enrich

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Fields say where the fields of a profile stand in a service's answer: for each JSON name of a Profile the paths to
// look at, such as "company.category.sector". The first path with a value counts. Paths go through objects only. The
// name "type" is that of the kind of network; see NotCompanies.
type Fields map[string][]string

// kind is the name in Fields for the kind of network that an address belongs to.
const kind = "type"

// NotCompanies are the kinds of networks, as services call them, that say nothing of the visitor: the "company" is then
// only the visitor's internet provider.
func NotCompanies() []string {
	return []string{"isp", "hosting", "vpn", "proxy", "tor", "bot", "mobile", "residential"}
}

const (
	// longest is how many characters of a text are taken from an answer: descriptions go into prompts.
	longest = 1000
	// mostFeatures is how many features are taken from an answer.
	mostFeatures = 50
)

// check refuses names that no profile has. Who fills in a profile decides on its status, source and address.
func (f Fields) check() error {
	names := []string{kind, "feature_list"}
	for _, t := range new(Profile).texts() {
		names = append(names, t.name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "ip_address" })
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("fields: unknown field %q: write some of %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// over returns f with what defaults has beyond it.
func (f Fields) over(defaults Fields) Fields {
	all := maps.Clone(defaults)
	maps.Copy(all, f)
	return all
}

// read returns the profile that an answer, decoded from JSON, holds. Its texts are one line each, and bounded.
func (f Fields) read(answer any) Profile {
	if slices.Contains(NotCompanies(), strings.ToLower(f.text(answer, kind))) {
		return Profile{}
	}
	var p Profile
	for _, t := range p.texts() {
		*t.text = f.text(answer, t.name)
	}
	p.FeatureList = f.list(answer, "feature_list")
	p.Status = p.assess()
	return p
}

func (f Fields) text(answer any, name string) string {
	for _, path := range f[name] {
		if text := plain(at(answer, path)); known(text) {
			return text
		}
	}
	return ""
}

func (f Fields) list(answer any, name string) []string {
	for _, path := range f[name] {
		values, _ := at(answer, path).([]any)
		var texts []string
		for _, v := range values[:min(len(values), mostFeatures)] {
			texts = append(texts, plain(v))
		}
		if texts = union(texts); len(texts) > 0 {
			return texts
		}
	}
	return nil
}

// at follows a path into objects; what is not there is nil.
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// plain makes a text or a number one line of text without anything that a terminal might act on; other values have
// none.
func plain(value any) string {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest])
	}
	return text
}

// Merge returns what two writes to a profile come to (sitebot 2.2). Each text is that of next where next knows it,
// otherwise that of old. The status never goes down, and the source follows the write that raised it. Feature lists are
// united in the order in which features first came up. The Claim is the later one. The arguments share no memory with
// the result but the Claim.
//
// Merging a profile with itself, or with nothing, changes nothing but repeated or unknown features. As long as every
// write that has a status names its source, it does not matter in which groups a row of writes is merged.
func Merge(old, next Profile) Profile {
	merged := old
	news := next.texts()
	for i, f := range merged.texts() {
		if known(*news[i].text) {
			*f.text = *news[i].text
		}
	}
	raised := next.Status.rank() > old.Status.rank()
	if raised {
		merged.Status = next.Status
	}
	if known(next.Source) && (raised || !known(old.Source)) {
		merged.Source = next.Source
	}
	merged.FeatureList = union(old.FeatureList, next.FeatureList)
	if next.Claim != nil {
		merged.Claim = next.Claim
	}
	return merged
}

func union(lists ...[]string) []string {
	var all []string
	for _, feature := range slices.Concat(lists...) {
		if known(feature) && !slices.Contains(all, feature) {
			all = append(all, feature)
		}
	}
	return all
}
