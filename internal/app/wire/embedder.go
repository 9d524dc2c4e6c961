package wire

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Embedder opens the configured embedder; it returns nil without one.
func (s *Setup) Embedder() (llm.Embedder, error) {
	if s.config.Embedder == nil {
		return nil, nil
	}
	return s.embedder(*s.config.Embedder)
}

// embedder opens an embedder, wrapped in the recording if there is one.
func (s *shared) embedder(m config.Model) (llm.Embedder, error) {
	if s.recording.Playing() {
		return s.recording.Embedder(m.String(), nil), nil
	}
	if err := s.needed("embedder "+m.String(), m.Unset); err != nil {
		return nil, err
	}
	e, err := llm.NewEmbedder(m, s.models)
	if err != nil {
		return nil, modelError(err)
	}
	return s.recording.Embedder(m.String(), e), nil
}

// KnowledgeIn returns the knowledge bases of the store at an address, or of the configured store. With the name of an
// embedder they have vectors. If the embedder fails, they are searched by words only, with a warning. Setup closes the
// store.
func (s *Setup) KnowledgeIn(ctx context.Context, address, embedder string) (*knowledge.Library, error) {
	var options []knowledge.Option
	if embedder != "" {
		m, err := s.ModelNamed(embedder, "embedder", Names(s.config.Models))
		if err == nil {
			options, err = s.vectors(m, func(err error) { s.ReportProblem("searching by words only: " + err.Error()) })
		}
		if err != nil {
			return nil, err
		}
	}
	path := s.StorePath()
	if address != "" {
		var scheme string
		if path, scheme = storage.SQLitePath(address); scheme != "" {
			return nil, source.Invalid("--store: knowledge bases cannot be kept in a %s store: use sqlite:PATH", scheme)
		}
		if path == "" {
			return nil, source.Invalid("--store names no file: use sqlite:PATH")
		}
	}
	if storage.IsPostgres(path) {
		return nil, source.Invalid(
			"knowledge bases cannot be kept in the configured store %s: name a file with --store sqlite:PATH",
			text.Address(path))
	}
	opened, err := s.StoreAt(ctx, path)
	if err != nil {
		return nil, err
	}
	return opened.Knowledge(options...), nil
}

// vectors returns the options for search by vectors. If the embedder fails, the search is by words only, and failed is
// called.
func (s *shared) vectors(m config.Model, failed func(error)) ([]knowledge.Option, error) {
	e, err := s.embedder(m)
	if err != nil {
		return nil, err
	}
	return []knowledge.Option{
		knowledge.WithVectors(knowledge.Vectors{Model: m.String(), Embedder: e, Failed: failed}),
	}, nil
}
