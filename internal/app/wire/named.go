package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// NamesProgram notes that a submitted run starts a program.
func (s *shared) NamesProgram() {
	s.refusing.mu.Lock()
	defer s.refusing.mu.Unlock()
	s.refusing.programs = true
}

// lookupNamed looks up a variable that a document names.
func (s *shared) lookupNamed(name string) (string, bool) {
	if s.Submitted != nil && !s.Submitted.mayRead(name) {
		s.refusing.variable(name)
		return "", false
	}
	return s.lookupEnv(name)
}

// NamesVariables refuses those of some variables that a submitted run may not read.
func (s *shared) NamesVariables(names ...string) {
	for _, name := range names {
		if s.Submitted != nil && !s.Submitted.mayRead(name) {
			s.refusing.variable(text.OneLine(name, maxVariable))
		}
	}
}

// namesFile notes that the script or the recording of a model is outside of the files of a submitted run.
func (s *shared) namesFile(m config.Model) {
	if s.Submitted == nil || m.Provider != "scripted" && m.Provider != "cassette" {
		return
	}
	if _, err := llm.Open(m, s.models); errors.Is(err, source.ErrOutside) {
		s.refusing.mu.Lock()
		defer s.refusing.mu.Unlock()
		s.refusing.outside = modelError(err)
	}
}

// Outside returns the error of a file of a model that is outside of the files of a submitted run (source.ErrOutside),
// as far as it was read.
func (s *shared) Outside() error {
	s.refusing.mu.Lock()
	defer s.refusing.mu.Unlock()
	return s.refusing.outside
}

// maxVariable bounds the name of a variable that is shown, in runes.
const maxVariable = 100

// NamesAddress refuses a private address that a submitted run names in plain sight. who says what has it.
func (s *shared) NamesAddress(who, address string) {
	if s.Submitted == nil || s.Submitted.AllowPrivate {
		return
	}
	if host := httpclient.Host(address); host != "" && httpclient.PrivateHost(host) && !s.guard.Own(address) {
		s.refusing.address(who + " at " + text.OneLine(text.Address(address), maxAddress))
	}
}

const maxAddress = 200

// writtenAddress matches an address that stands at the end of a text, such as a target's short form.
var writtenAddress = text.Regexp(`^\S*?((?:https?|wss?)://\S+)$`)

// NamesWritten refuses a private address of the process itself that a submitted run spells out. Only a variable may
// stand for it.
func (s *shared) NamesWritten(written string) {
	if s.guard == nil || !strings.Contains(written, "://") {
		return
	}
	found := writtenAddress().FindStringSubmatch(strings.TrimSpace(written))
	if found != nil && httpclient.PrivateHost(httpclient.Host(found[1])) && s.guard.Own(found[1]) {
		s.refusing.address(text.OneLine(text.Address(found[1]), maxAddress))
	}
}

// variableName matches what only the name of a variable looks like.
var variableName = text.Regexp(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// secretKeys are the keys of configurations that name variables, whatever their values look like.
func secretKeys() []string {
	return []string{
		"api_key_env", "token_env", "public_env", "url_env", "secret_env", "host_env", "key_env", "ip_hash_salt_env",
	}
}

// namesIn refuses the variables that a document names by keys that end in _env, and the process's own private addresses
// where they are written out.
func (s *shared) namesIn(v source.Value, key string) {
	if s.Submitted == nil {
		return
	}
	if v.Kind == source.String {
		if strings.HasSuffix(key, "_env") && v.Scalar != "" &&
			(slices.Contains(secretKeys(), key) || variableName().MatchString(v.Scalar)) {
			s.NamesVariables(v.Scalar)
		}
		s.NamesWritten(v.Scalar)
		return
	}
	for i := range v.Items {
		s.namesIn(v.Items[i], key)
	}
	for i := range v.Fields {
		s.namesIn(v.Fields[i].Value, v.Fields[i].Name)
	}
}

// namesOf refuses what a configuration names and may not.
func (s *shared) namesOf(c config.File) {
	if s.Submitted == nil {
		return
	}
	s.namesIn(c.Document, "")
	for _, name := range Names(c.Targets) {
		s.targetNames("target "+name, c.Targets[name])
	}
	models := map[string]*config.Model{
		"the user": c.User, "the embedder": c.Embedder, "the judge": c.Judge.Primary,
		"the second judge": c.Judge.Secondary,
	}
	for name, m := range c.Models {
		models["model "+name] = &m
	}
	for i, m := range c.Judge.Panel {
		models[fmt.Sprintf("judge %d", i+1)] = &m
	}
	for _, who := range Names(models) {
		if m := models[who]; m != nil {
			s.NamesAddress(who, m.BaseURL)
		}
	}
}

// NamesTarget refuses what a target of a test names and may not, and notes whether it starts a program. A name that is
// no target is passed over: opening it says so.
func (s *Setup) NamesTarget(name string) {
	if s.Submitted == nil {
		if s.TargetStartsProgram(name) {
			s.NamesProgram()
		}
		return
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if t, err := s.TargetNamed(name); err == nil {
		s.targetNames("target "+text.Address(name), t)
	}
}

// TargetStartsProgram reports whether a target starts a program that its configuration names.
func (s *Setup) TargetStartsProgram(name string) bool {
	s.opening.Lock()
	defer s.opening.Unlock()
	t, err := s.TargetNamed(name)
	return err == nil && target.StartsProgram(t)
}

// targetNames refuses what a target names and may not.
func (s *shared) targetNames(who string, t config.Target) {
	s.NamesAddress(who, t.Model.BaseURL)
	for _, address := range target.Addresses(t) {
		s.NamesAddress(who, address)
	}
	if target.StartsProgram(t) {
		s.NamesProgram()
	}
	c, ok := target.SiteOf(t)
	if !ok {
		return
	}
	if from, err := s.sources.Read(context.Background(), c.Dir); err == nil { // opening it reports the error
		s.siteNames(from)
	}
}

// siteNames refuses what chatbots name and may not.
func (s *shared) siteNames(from *chatbot.Source) {
	for _, one := range from.Library.Sites() {
		if server := one.KnowledgeBase.LightRAG; server != nil {
			s.NamesAddress("site "+one.Name, server.URL)
		}
		s.NamesVariables(one.Variables()...)
	}
}
