package flow

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const (
	defaultMethod      = "POST"
	defaultCallTimeout = 5 * time.Second
	maxCallTimeout     = time.Minute
	// maxRemotes bounds the APIs of a flow, and its tools.
	maxRemotes = 100
)

var (
	remoteName = text.Regexp(`^[A-Za-z0-9_-]{1,64}$`)
	headerName = text.Regexp("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
	// EnvName is ${NAME} in a header.
	EnvName = text.Regexp(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	// reservedNames are tools and events of the engine.
	reservedNames = []any{ProcessNode, fullHistory, searchKnowledge, string(LogEvent)}
	// ownHeaders are set by whoever sends a request.
	ownHeaders = []string{
		"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-authorization",
	}
)

// remotes reads the APIs of a flow, or its tools.
func remotes(n source.Node, tool bool) map[string]*Remote {
	if n.Kind == source.Null {
		return nil
	}
	all := map[string]*Remote{}
	if len(n.Fields) > maxRemotes {
		n.Report("split the flow", "there are more than %d of them", maxRemotes)
		return all
	}
	for name, item := range n.Entries() {
		if !remoteName().MatchString(name) {
			item.Report("use at most 64 letters, digits, _ and -", "%q is not a valid name", clip(name, 40))
		}
		if slices.Contains(reservedNames, any(name)) {
			item.Report("give it another name", "%q is what the engine itself calls something", name)
		}
		all[name] = readRemote(item, name, tool)
	}
	return all
}

func readRemote(n source.Node, name string, tool bool) *Remote {
	remote := &Remote{Name: name, Method: defaultMethod, Timeout: defaultCallTimeout}
	keys := remoteKeys{Remote: remote}
	if tool {
		remote.Parameters = compact(map[string]any{"type": "object"})
		keys := toolKeys{remoteKeys: &keys}
		decode(n, &keys)
		remote.Description = keys.Description
		if n.Has("parameters") {
			remote.Parameters = readParameters(keys.Parameters)
		}
	} else {
		keys := apiKeys{remoteKeys: &keys}
		decode(n, &keys)
		if n.Has("save") {
			remote.Save = map[string]string{}
		}
		for field, path := range keys.Save.Entries() {
			if remote.Save[NormalKey(field)] = path.Text(); path.Text() == "" {
				path.Report("write the dotted path of a value in the answer", "the field %q has no path", field)
			}
		}
	}
	if n.Has("headers") {
		remote.Headers = readHeaders(keys.Headers)
	}
	if n.Has("timeout") && (remote.Timeout <= 0 || remote.Timeout > maxCallTimeout) {
		n.Field("timeout").Report("write a time such as 5s", "a call may take more than nothing and at most %s",
			maxCallTimeout)
	}
	if n.Kind == source.Map && !n.Has("url") {
		n.Report("add `url:` with an address", "%q has no address", name)
	}
	if url := n.Field("url"); n.Has("url") && url.Kind != source.List && url.Kind != source.Map {
		if fault := addressFault(remote.URL); fault != "" {
			url.Report("write an address such as https://api.example.com/orders/{order}", "%s", fault)
		}
	}
	return remote
}

// remoteKeys are the keys of APIs and tools. The host of the address is fixed: no field leads to another.
type remoteKeys struct {
	*Remote
	Headers source.Node `key:"headers" schema:"headers" doc:"headers; ${NAME} is a variable of the environment"`
}

type toolKeys struct {
	*remoteKeys
	Description string      `key:"description" doc:"what the tool does, for the model"`
	Parameters  source.Node `key:"parameters" schema:"parameters" doc:"a JSON Schema of an object (default: any)"`
}

type apiKeys struct {
	*remoteKeys
	Save source.Node `key:"save" schema:"save" doc:"fields and the dotted paths of their values in the answer"`
}

// addressFault says what is wrong with an address; empty for nothing.
func addressFault(text string) string {
	u, err := url.Parse(urlField().ReplaceAllString(text, "x"))
	scheme, rest, _ := strings.Cut(text, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case err != nil || !isAddress(text) || u.Hostname() == "":
		return fmt.Sprintf("%q is not the address of something that can be called", clip(text, 100))
	case strings.Contains(scheme+host, "{"):
		return "the host of an address cannot be a field"
	case u.User != nil:
		return "an address holds no password: put it into a header as ${NAME}"
	}
	return ""
}

func readHeaders(n source.Node) map[string]string {
	headers := map[string]string{}
	for name, value := range n.Entries() {
		text := plain(value)
		switch {
		case !headerName().MatchString(name), strings.ContainsAny(text, "\r\n\x00"):
			value.Report("write NAME: VALUE", "this is not a header")
		case slices.Contains(ownHeaders, strings.ToLower(name)):
			value.Report("leave it out", "the header %s is set by the program", name)
		}
		headers[name] = text
	}
	return headers
}

func readParameters(n source.Node) []byte {
	data := compact(n.Value.Any())
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(nothingElse{})
		if err = compiler.AddResource("parameters.json", doc); err == nil {
			_, err = compiler.Compile("parameters.json")
		}
	}
	if object, ok := doc.(map[string]any); err == nil && (!ok || object["type"] != "object") {
		err = fmt.Errorf("its type is not object")
	}
	if err != nil {
		n.Report("write a JSON Schema with `type: object`", "the parameters are no schema of an object: %s",
			clip(err.Error(), 200))
	}
	return data
}

// nothingElse keeps a schema from naming files and addresses.
type nothingElse struct{}

// Load refuses to load anything.
func (nothingElse) Load(string) (any, error) {
	return nil, fmt.Errorf("a schema cannot refer to another document")
}

// connectTools resolves the tools that the nodes list.
func (r *reader) connectTools(listed map[*Node]source.Node) {
	for _, node := range r.flow.Nodes {
		n, ok := listed[node]
		if !ok {
			continue
		}
		for _, item := range n.List() {
			tool, ok := r.flow.tools[item.Text()]
			if !ok {
				item.Report(source.Suggest(item.Scalar, slices.Collect(maps.Keys(r.flow.tools))),
					"node %q lists the tool %q, which the flow does not have", node.ID, item.Scalar)
				continue
			}
			if !slices.Contains(node.tools, tool) {
				node.tools = append(node.tools, tool)
			}
		}
	}
}

// checkAPIs reports APIs that actions name and the flow does not have. Machines that were written down from what exists
// have none at all: there it is a warning, and the call is an error of its turn.
func (r *reader) checkAPIs() {
	check := func(place string, at source.Problem, actions []Action) {
		for _, a := range actions {
			switch {
			case a.Type != CallAPI || r.flow.apis[a.Target] != nil:
			case isAddress(a.Target):
				if fault := addressFault(a.Target); fault != "" {
					r.report(at, "write an address such as https://api.example.com/orders/{order}", "%s: %s",
						place, fault)
				}
			case r.flow.apis == nil:
				r.warnOf(at, "add `apis:` with its address", "%s calls the api %q, which the flow does not have",
					place, a.Target)
			default:
				r.report(at, source.Suggest(a.Target, slices.Collect(maps.Keys(r.flow.apis))),
					"%s calls the api %q, which the flow does not have", place, a.Target)
			}
		}
	}
	for _, node := range r.flow.Nodes {
		check(fmt.Sprintf("state %q", node.ID), node.at, node.State.Actions)
		for _, o := range node.Options {
			check(fmt.Sprintf("state %q, transition %q", node.ID, o.ID), o.at, o.Actions)
		}
	}
}

// Calls reports whether the flow may call something over HTTP.
func (f *Flow) Calls() bool {
	calls := func(a Action) bool { return a.Type == CallAPI }
	return slices.ContainsFunc(f.Nodes, func(n *Node) bool {
		return len(n.tools) > 0 || n.State != nil && slices.ContainsFunc(n.State.Actions, calls) ||
			slices.ContainsFunc(n.Options, func(o *Option) bool { return slices.ContainsFunc(o.Actions, calls) })
	})
}

// Variables returns the variables of the environment that the flow's headers name, sorted.
func (f *Flow) Variables() (names []string) {
	remotes := slices.Collect(maps.Values(f.apis))
	for _, n := range f.Nodes { // also of called flows
		remotes = append(remotes, n.tools...)
	}
	for _, remote := range remotes {
		for _, value := range remote.Headers {
			for _, found := range EnvName().FindAllStringSubmatch(value, -1) {
				names = append(names, found[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
