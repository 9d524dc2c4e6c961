package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rehearse/internal/config"
	"rehearse/internal/llm"
	"rehearse/internal/store"
)

func addEmbedder(c *cobra.Command, embedder *string, does string) {
	c.Flags().StringVar(embedder, "embedder", "", does+", with the vectors of PROVIDER:MODEL or of a model in rehearse.yaml")
}

// kbVectors makes knowledge bases be searched by meaning too, if an embedder is named.
func kbVectors(env *Env, name string) ([]store.KnowledgeOption, error) {
	if name == "" {
		return nil, nil
	}
	w := &wiring{env: env}
	if path := config.Find("."); path != "" {
		var err error
		if w.config, err = config.Load(path); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	m, err := w.modelNamed(name, "embedder", sortedNames(w.config.Models))
	if err != nil {
		return nil, err
	}
	embedder, err := llm.NewEmbedder(m, llm.Options{Getenv: env.Getenv, Transport: llm.Transport(), Limits: llm.NewLimits()})
	if err != nil {
		return nil, modelError(err)
	}
	return []store.KnowledgeOption{store.WithVectors(store.Vectors{
		Model: m.String(), Embedder: embedder,
		Failed: func(err error) { fmt.Fprintln(env.Stderr, "warning:", err) },
	})}, nil
}
