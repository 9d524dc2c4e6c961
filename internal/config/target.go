package config

import (
	"path/filepath"
	"strings"

	"rehearse/internal/source"
)

// target reads "PROVIDER:MODEL", "flow:FILE", "site:FILE", the name of a model, or a mapping with a kind.
func (f *File) target(n source.Node) Target {
	if n.Kind == source.String {
		if t, ok := ShortTarget(n.Scalar, f.Dir); ok {
			return t
		}
		return Target{Kind: ModelTarget, Model: f.addressed(n)}
	}
	kind := ModelTarget
	if n.Has("kind") {
		kind = Kind(n.Field("kind").OneOf(string(ModelTarget), string(FlowTarget), string(HTTPTarget), string(SiteTarget), string(ClassifierTarget)))
	}
	switch kind {
	case FlowTarget:
		return f.flowTarget(n)
	case HTTPTarget:
		return f.httpTarget(n)
	case SiteTarget:
		return f.siteTarget(n)
	case ClassifierTarget:
		return f.classifierTarget(n)
	}
	return Target{Kind: ModelTarget, Model: f.model(n)}
}

// addressed reads PROVIDER:MODEL or PROVIDER:MODEL@URL, or the name of a model.
func (f *File) addressed(n source.Node) Model {
	short, address := CutAddress(n.Scalar)
	m := f.Model(n, short)
	if address == "" {
		return m
	}
	if _, ok := f.Models[short]; ok {
		n.Report("write `base_url:` into the model", "the model %s is described here: it has its address there", short)
		return m
	}
	m, err := m.Named(address)
	if err != nil {
		n.Report("write PROVIDER:MODEL@URL, such as openai:agent@http://127.0.0.1:8000/v1", "the address behind @: %v", err)
	}
	return m
}

// flowFields reads the fields of a flow target.
func (f *File) flowFields(to *Flow) map[string]func(source.Node) {
	return map[string]func(source.Node){
		"kind":            func(source.Node) {},
		"flow":            func(n source.Node) { to.Path = f.path(n.Text()) },
		"flow_id":         func(n source.Node) { to.ID = n.Text() },
		"start":           func(n source.Node) { to.Start = n.Text() },
		"knowledge_bases": func(n source.Node) { to.KnowledgeBases = n.Texts() },
		"memory":          func(n source.Node) { to.Memory = readMemory(n) },
		"limits": func(n source.Node) {
			n.Read(map[string]func(source.Node){
				"max_tool_iterations":     func(n source.Node) { to.MaxToolIterations = n.Int(1) },
				"history_window_messages": func(n source.Node) { to.WindowMessages = n.Int(1) },
				"history_window_tokens":   func(n source.Node) { to.WindowTokens = n.Int(1) },
				"turn_timeout":            func(n source.Node) { to.TurnTimeout = n.Duration() },
			})
		},
	}
}

func (f *File) flowTarget(n source.Node) Target {
	t := Target{Kind: FlowTarget, Model: Model{Provider: Lexical, Name: "default"}}
	fields := f.flowFields(&t.Flow)
	fields["model"] = func(n source.Node) { t.Model = f.model(n) }
	fields["knowledge"] = func(n source.Node) { t.Flow.Knowledge = f.path(n.Text()) }
	n.Read(fields)
	if !n.Has("flow") {
		n.Report("add `flow:` with the file of the flow, or a folder and `flow_id:`", "a flow target needs a flow")
	}
	return t
}

func (f *File) httpTarget(n source.Node) Target {
	t := Target{Kind: HTTPTarget, HTTP: HTTP{Headers: map[string]string{}}}
	fields := f.flowFields(&t.Flow)
	fields["url"] = func(n source.Node) { t.HTTP.URL = n.Text() }
	fields["token_env"] = func(n source.Node) { t.HTTP.TokenEnv = n.Text() }
	fields["headers"] = func(n source.Node) {
		for name, value := range n.Entries() {
			t.HTTP.Headers[name] = value.Text()
		}
	}
	fields["retries"] = func(n source.Node) { t.HTTP.Retries = new(n.Int(0)) }
	fields["timeout"] = func(n source.Node) { t.HTTP.Timeout = n.Duration() }
	n.Read(fields)
	if !n.Has("url") {
		n.Report("add `url:`, such as http://127.0.0.1:8080/execute", "an http target needs an address")
	}
	if !n.Has("flow") && !n.Has("flow_id") {
		n.Report("add `flow_id:` with the name of the server's flow, or `flow:` with a file to send", "an http target needs a flow")
	}
	return t
}

// siteFields reads the fields that name a chatbot.
func (f *File) siteFields(to *Site) map[string]func(source.Node) {
	return map[string]func(source.Node){
		"kind":    func(source.Node) {},
		"sites":   func(n source.Node) { to.Dir = f.path(n.Text()) },
		"site":    func(n source.Node) { to.Name = n.Text() },
		"model":   func(n source.Node) { to.Model = f.local(n) },
		"prompts": func(n source.Node) { to.Prompts = f.path(n.Text()) },
	}
}

func (f *File) siteTarget(n source.Node) Target {
	t := Target{Kind: SiteTarget}
	fields := f.siteFields(&t.Site)
	fields["language"] = func(n source.Node) { t.Site.Language = n.Text() }
	n.Read(fields)
	needsSites(n, SiteTarget)
	return t
}

func (f *File) classifierTarget(n source.Node) Target {
	t := Target{Kind: ClassifierTarget}
	fields := f.siteFields(&t.Site)
	fields["node"] = func(n source.Node) {
		for _, node := range ClassifierNodes() { // with a hyphen or, as in the chatbot, an underscore
			if n.Kind == source.String && strings.ReplaceAll(n.Scalar, "_", "-") == node {
				t.Node = node
				return
			}
		}
		n.Report("write "+strings.Join(ClassifierNodes(), " or "), "there is no classifier %q", n.Text())
	}
	n.Read(fields)
	if !n.Has("node") {
		n.Report("add `node:` with "+strings.Join(ClassifierNodes(), " or "), "a classifier target needs the node that classifies")
	}
	needsSites(n, ClassifierTarget)
	return t
}

func needsSites(n source.Node, kind Kind) {
	if !n.Has("sites") {
		n.Report("add `sites:` with a folder of sites, or the file of one", "a %s target needs its site", kind)
	}
}

// local checks the name of a model. It resolves a script's path against the configuration's folder.
func (f *File) local(n source.Node) string {
	m := f.Model(n, n.Text())
	if _, named := f.Models[n.Scalar]; named {
		return n.Scalar
	}
	if m.Provider == "scripted" || m.Provider == "cassette" {
		return m.Provider + ":" + f.path(m.Name)
	}
	return n.Scalar
}

// readMemory reads true, false, or {enabled, stages}.
func readMemory(n source.Node) *Memory {
	if n.Kind == source.Bool {
		return &Memory{Enabled: n.Bool()}
	}
	m := &Memory{Enabled: true}
	n.Read(map[string]func(source.Node){
		"enabled": func(n source.Node) { m.Enabled = n.Bool() },
		"stages": func(n source.Node) {
			m.Stages = []string{}
			for _, item := range n.List() {
				m.Stages = append(m.Stages, item.OneOf("facts", "summarize", "resummarize"))
			}
		},
	})
	return m
}

func (f *File) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.Dir, name)
}
