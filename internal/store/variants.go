package store

import (
	"context"
	"errors"

	"rehearse/internal/replay"
)

// Variants keeps variants and versions of prompts, in a store's file or in a PostgreSQL database, with the same answers. It is safe for
// concurrent use and for several processes. Store.Variants and Postgres.Variants give it.
type Variants struct{}

var _ replay.Variants = (*Variants)(nil)

var errUnfinished = errors.New("this part of the store is being built")

// Variants returns the variants that the store keeps. They end with the store.
func (s *Store) Variants() *Variants { return &Variants{} }

// Variants returns the variants that the database keeps. They end with p.
func (p *Postgres) Variants() *Variants { return &Variants{} }

// Variant returns the variant with the id, else an error that wraps replay.ErrUnknown.
func (*Variants) Variant(context.Context, string) (replay.Variant, error) {
	return replay.Variant{}, errUnfinished
}

// Prompt returns the version of a prompt with the id, else an error that wraps replay.ErrUnknown.
func (*Variants) Prompt(context.Context, string) (replay.PromptVersion, error) {
	return replay.PromptVersion{}, errUnfinished
}

// PutVariant keeps a variant, in place of an earlier one with its id.
func (*Variants) PutVariant(context.Context, replay.Variant) error { return errUnfinished }

// PutPrompt keeps a version of a prompt, in place of an earlier one with its id.
func (*Variants) PutPrompt(context.Context, replay.PromptVersion) error { return errUnfinished }

// List returns all variants in the byte order of their ids.
func (*Variants) List(context.Context) ([]replay.Variant, error) { return nil, errUnfinished }

// Prompts returns all versions of prompts in the byte order of their ids.
func (*Variants) Prompts(context.Context) ([]replay.PromptVersion, error) { return nil, errUnfinished }
