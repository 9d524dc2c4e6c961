package site

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// hostNames are what a site may be called: host names, and names like them. A colon would blur the keys of sessions.
var hostNames = text.Regexp(`^[\p{L}\p{N}]([\p{L}\p{N}._-]*[\p{L}\p{N}])?$`)

// maxName is the longest host name (RFC 1035).
const maxName = 253

// hostName returns the name of a site as it is compared.
func hostName(n source.Node) string {
	name := normal(n.Text())
	if n.Kind != source.List && n.Kind != source.Map && (len(name) > maxName || !hostNames().MatchString(name)) {
		n.Report("write a host name such as acme.example, without https://, port or path",
			"%q is not the name of a site", clip(name))
	}
	return name
}

// normal writes a name as names are compared: hosts know no case, and may end in a dot.
func normal(name string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".")
}

func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}

// name reads the name or an alias of the site, and notes where it stands.
func (r *reader) name(n source.Node) string {
	name := hostName(n)
	if first, taken := r.site.names[name]; taken && name != "" {
		n.Report("keep one of the two", "the name %q stands here and in line %d", name, first.Line)
	}
	r.site.names[name] = positionOf(n)
	return name
}

func (r *reader) aliases(n source.Node) []string {
	if n.Kind == source.String {
		return []string{r.name(n)}
	}
	var names []string
	for _, item := range n.List() {
		names = append(names, r.name(item))
	}
	return names
}

// nodePrompts are the keys of prompts of nodes that ask a model for data.
type nodePrompts struct {
	Intent      string `key:"intent_classifier" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	Interest    string `key:"interest_signals_detector" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	Skill       string `key:"skill_selector" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	Early       string `key:"early_profile_extractor" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	Profile     string `key:"visitor_profile" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	Form        string `key:"form_field_extractor" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	FollowUps   string `key:"follow_up_suggester" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
	Suggestions string `key:"answer_suggester" notblank:"true" schema:"prompt" doc:"the prompt of this node"`
}

// promptKeys are the keys of prompts.
type promptKeys struct {
	*Prompts
	nodePrompts
}

// DecodeNode reads the names of prompts.
func (p *Prompts) DecodeNode(n source.Node) {
	keys := promptKeys{Prompts: p}
	source.Decode(n, &keys)
	for key, name := range map[string]*string{
		"meta": &p.Meta, "answer": &p.Answer, "redirect": &p.Redirect, "booking": &p.Booking,
		"post_conversion": &p.PostConversion, "instructions": &p.Instructions,
	} {
		*name = promptName(n.Field(key))
	}
	for _, node := range source.Keys[nodePrompts]() {
		if n.Has(node) {
			if p.Nodes == nil {
				p.Nodes = map[string]string{}
			}
			p.Nodes[node] = promptName(n.Field(node))
		}
	}
}

var (
	// nameVariables are in braces in the name of a prompt.
	nameVariables = text.Regexp(`\{([^{}]*)\}`)
	promptNames   = text.Regexp(`^[\p{L}\p{N}{][\p{L}\p{N}{}._/-]*$`)
)

// promptName returns the name of a prompt, which is also the path of a file.
func promptName(n source.Node) string {
	name, _ := scalar(n)
	if name == "" {
		return ""
	}
	for _, match := range nameVariables().FindAllStringSubmatch(name, -1) {
		if match[1] != "agent" && match[1] != "site" {
			n.Report("a name may hold {agent} and {site}", "unknown variable {%s} in the name of a prompt",
				clip(match[1]))
			return ""
		}
	}
	plain := nameVariables().ReplaceAllString(name, "x")
	if !promptNames().MatchString(plain) || strings.ContainsAny(plain, "{}") ||
		slices.Contains(strings.Split(plain, "/"), "..") {
		n.Report("write a name such as response-agents/answer/template", "%q is not the name of a prompt", clip(name))
	}
	return name
}
