package main

import (
	"github.com/spf13/cobra"
)

func addEmbedder(c *cobra.Command, embedder *string, does string) {
	c.Flags().StringVar(embedder, "embedder", "", does+", with the vectors of PROVIDER:MODEL or of a model in rehearse.yaml")
}
