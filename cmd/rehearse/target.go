package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/flow"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
	"rehearse/internal/store"
	"rehearse/internal/suite"
	"rehearse/internal/target"
)

// target returns the target of that name as a test calls it.
func (w *wiring) target(name string, e suite.Execution) (runner.Target, error) {
	key := callOf(name, e)
	if t, ok := w.targets[key]; ok {
		return t, nil
	}
	c, err := w.targetNamed(name)
	if err != nil {
		return nil, err
	}
	var t runner.Target
	switch c.Kind {
	case config.FlowTarget:
		t, err = w.flowTarget(c, e)
	case config.HTTPTarget:
		t, err = w.httpTarget(c, e)
	case config.SiteTarget:
		t, err = w.siteTarget(c.Site)
	case config.ClassifierTarget:
		t, err = w.classifierTarget(c)
	default:
		t, err = w.modelTarget(c.Model, e)
	}
	if err != nil {
		return nil, err
	}
	w.targets[key] = t
	return t, nil
}

// targetNamed finds a target by its name in the configuration, or by what a short form says.
func (w *wiring) targetNamed(name string) (config.Target, error) {
	if t, ok := w.config.Targets[name]; ok {
		return t, nil
	}
	if t, ok := config.ShortTarget(name, ""); ok {
		if w.flags.model != "" {
			m, err := w.modelNamed(w.flags.model, "model", sortedNames(w.config.Models))
			if err != nil {
				return config.Target{}, err
			}
			t.Model = m
		}
		return t, nil
	}
	m, err := w.modelNamed(name, "target", sortedNames(w.config.Targets))
	return config.Target{Kind: config.ModelTarget, Model: m}, err
}

// modelAs opens a model with the retries and time limit that a test asks for.
func (w *wiring) modelAs(m config.Model, e suite.Execution) (llm.Model, error) {
	if e.Retries != nil {
		m.Retries = e.Retries
	}
	m.Timeout = cmp.Or(e.Timeout, m.Timeout)
	return w.open(m)
}

func parametersOf(m config.Model) llm.Request {
	return llm.Request{Temperature: m.Temperature, TopP: m.TopP, Seed: m.Seed, MaxTokens: m.MaxTokens}
}

func (w *wiring) modelTarget(m config.Model, e suite.Execution) (runner.Target, error) {
	model, err := w.modelAs(m, e)
	if err != nil {
		return nil, err
	}
	return &target.Model{Model: model, Parameters: parametersOf(m)}, nil
}

// flowTarget runs a flow in this process.
func (w *wiring) flowTarget(c config.Target, e suite.Execution) (runner.Target, error) {
	f, err := loadFlow(c.Flow)
	if err != nil {
		return nil, err
	}
	model, err := w.modelAs(c.Model, e)
	if err != nil {
		return nil, err
	}
	knowledge, err := w.knowledge(c.Flow)
	if err != nil {
		return nil, err
	}
	engine := flow.New(flow.Config{Model: model, Parameters: parametersOf(c.Model), Knowledge: knowledge})
	return &target.Flow{Engine: engine, Flow: f, FlowSettings: flowSettings(c.Flow)}, nil
}

// knowledge opens the folder of knowledge bases that a flow may search, once.
func (w *wiring) knowledge(c config.Flow) (flow.Knowledge, error) {
	if c.Knowledge == "" {
		return nil, nil
	}
	if k, ok := w.libraries[c.Knowledge]; ok {
		return k, nil
	}
	vectors, err := vectorsOf(w.config, w.models, nil)
	if err != nil {
		return nil, err
	}
	k, err := store.OpenKnowledge(context.Background(), c.Knowledge, vectors...)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("knowledge: %w", err)}
	}
	w.libraries[c.Knowledge] = k
	return k, nil
}

// loadFlow loads the flow that a target names.
func loadFlow(c config.Flow) (*flow.Flow, error) {
	library, err := flow.OpenLibrary(c.Path)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	flows := library.Flows()
	switch {
	case c.ID != "":
		f, err := library.Find(c.ID)
		if err != nil {
			return nil, usage("%s: %w", c.Path, err)
		}
		return f, nil
	case len(flows) > 1:
		ids := make([]string, 0, len(flows))
		for _, f := range flows {
			ids = append(ids, f.ID)
		}
		return nil, usage("%s holds %d flows: choose one with `flow_id:`, or flow:%s#ID: %s", c.Path, len(flows), c.Path, strings.Join(ids, ", "))
	}
	return flows[0], nil
}

func flowSettings(c config.Flow) target.FlowSettings {
	s := target.FlowSettings{KnowledgeBases: c.KnowledgeBases}
	s.Limits.MaxToolIterations, s.Limits.TurnTimeoutMS = c.MaxToolIterations, int(c.TurnTimeout.Milliseconds())
	if c.WindowMessages > 0 {
		s.Limits.WindowMessages = &c.WindowMessages
	}
	if c.WindowTokens > 0 {
		s.Limits.WindowTokens = &c.WindowTokens
	}
	if c.Memory != nil {
		s.Pipeline = &flow.MemoryPipeline{Enabled: c.Memory.Enabled}
		for _, stage := range c.Memory.Stages {
			s.Pipeline.Stages = append(s.Pipeline.Stages, flow.Stage(stage))
		}
		if c.Memory.Stages != nil && s.Pipeline.Stages == nil {
			s.Pipeline.Stages = []flow.Stage{}
		}
	}
	return s
}

// siteTarget runs a site's chatbot in this process. Targets of one folder share what its sites work with.
func (w *wiring) siteTarget(c config.Site) (runner.Target, error) {
	opened, err := w.openedSites(c)
	if err != nil {
		return nil, err
	}
	name, err := opened.choose(c.Name)
	if err != nil {
		return nil, err
	}
	return &target.Sitebot{Bot: opened.bot, Site: name, Language: c.Language}, nil
}

// classifierTarget runs one node of a site's chatbot in this process.
func (w *wiring) classifierTarget(c config.Target) (runner.Target, error) {
	opened, err := w.openedSites(c.Site)
	if err != nil {
		return nil, err
	}
	name, err := opened.choose(c.Site.Name)
	if err != nil {
		return nil, err
	}
	node, err := opened.bot.Classifier(nodeNames[c.Node])
	if err != nil {
		return nil, notRun(err)
	}
	return &target.Classifier{Node: node, Site: name}, nil
}

// openedSites opens the sites of a folder with the model that answers, once.
func (w *wiring) openedSites(c config.Site) (*sites, error) {
	model := cmp.Or(w.flags.model, c.Model)
	key := strings.Join([]string{c.Dir, c.Prompts, model}, "\x00")
	opened := w.sites[key]
	if opened == nil {
		var err error
		opened, err = openSites(context.Background(), w.env, sitesOptions{
			dir: c.Dir, prompts: c.Prompts, model: model, config: w.config, localPrompt: w.flags.localPrompt, log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		w.sites[key] = opened
	}
	return opened, nil
}

// httpTarget talks to a server that runs flows.
func (w *wiring) httpTarget(c config.Target, e suite.Execution) (runner.Target, error) {
	t := &target.Execute{
		URL: c.HTTP.URL, FlowSettings: flowSettings(c.Flow), Header: http.Header{}, Flow: flow.Source{Ref: flow.Slug(c.Flow.ID)},
		Client: &http.Client{Transport: w.models.Transport}, Timeout: cmp.Or(e.Timeout, c.HTTP.Timeout), Retries: suite.DefaultRetries,
		Start: cmp.Or(c.Flow.Start, "start"), Wrap: func(server llm.Model) llm.Model { return w.taped(c.HTTP.URL, server) },
	}
	for name, value := range c.HTTP.Headers {
		t.Header.Set(name, value)
	}
	if c.HTTP.Retries != nil {
		t.Retries = *c.HTTP.Retries
	}
	if e.Retries != nil {
		t.Retries = *e.Retries
	}
	if c.HTTP.TokenEnv != "" {
		token := w.env.Getenv(c.HTTP.TokenEnv)
		if token == "" && w.tape.playing == nil {
			return nil, notRun(fmt.Errorf("the target's token is missing: set %s", c.HTTP.TokenEnv))
		}
		t.Header.Set("Authorization", "Bearer "+token)
	}
	if c.Flow.Path == "" {
		return t, nil
	}
	return t, sendFlow(t, c.Flow)
}

// sendFlow makes the target send the flow itself with every turn.
func sendFlow(t *target.Execute, c config.Flow) error {
	f, err := loadFlow(c)
	if err != nil {
		return err
	}
	if f.Machine {
		return usage("%s is a state machine, which a server must know itself: use `flow_id: %s` without `flow`", c.Path, flow.Slug(f.ID))
	}
	definition, err := f.Definition()
	if err != nil {
		return notRun(err)
	}
	t.Flow = flow.Source{Inline: definition}
	t.Start = cmp.Or(c.Start, f.Start.ID)
	return nil
}

// local makes the file that a suite names itself start from the suite's folder.
func (w *wiring) local(s *suite.Suite, name string) string {
	provider, file, ok := strings.Cut(name, ":")
	if !ok || provider != "scripted" && provider != "cassette" && provider != "flow" && provider != "site" || filepath.IsAbs(file) {
		return name
	}
	if _, configured := w.config.Models[name]; configured {
		return name
	}
	return provider + ":" + filepath.Join(filepath.Dir(s.File), file)
}
