package main

import (
	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

func newChatGraph(env *Env) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "graph",
		Short: "Draw the graph that a turn of the chatbot runs",
		Long:  `Draw the graph that a turn of the chatbot runs, from the definition that runs it. What a rule chooses is a dashed line.`,
		Example: `  rehearse chat graph
  rehearse chat graph --format svg --out chatbot.svg`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			g, err := sitebot.Drawing()
			if err != nil {
				return outcome(err)
			}
			return drawGraph(env, g, format, out)
		},
	}
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid or svg")
	c.Flags().StringVarP(&out, "out", "o", "", "file to write (default: standard output)")
	return c
}
