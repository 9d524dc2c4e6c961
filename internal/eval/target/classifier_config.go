package target

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// ClassifierConfig is a single node of a site's chatbot that says what a message is, as a target.
type ClassifierConfig struct {
	SiteConfig
	// Node is one of ClassifierNodes.
	Node string
}

// ClassifierNodes returns the nodes that a target of the kind classifier can run.
func ClassifierNodes() []string { return []string{"intent-classifier", "skill-selector"} }

func classifierKind() Kind {
	return Kind{
		Name: "classifier", Doc: "one node of a website's chatbot, whose reply is a label", read: readClassifier,
	}
}

// OfClassifier returns the target that is a node of a site's chatbot.
func OfClassifier(c ClassifierConfig) config.Target {
	return config.Target{Kind: "classifier", Options: c}
}

// classifierKeys are the keys of a target of the kind classifier.
type classifierKeys struct {
	siteKeys
	Node string `key:"node" doc:"intent-classifier or skill-selector"`
}

func readClassifier(n source.Node, at config.Location) config.Target {
	var k classifierKeys
	source.Decode(n, &k)
	c := ClassifierConfig{SiteConfig: k.config(at)}
	if n.Has("node") {
		c.Node = strings.ReplaceAll(k.Node, "_", "-") // with a hyphen or, as in the chatbot, an underscore
		if !slices.Contains(ClassifierNodes(), c.Node) {
			n.Field("node").Report("write "+strings.Join(ClassifierNodes(), " or "),
				"there is no classifier %q", k.Node)
		}
	}
	if !n.Has("node") {
		n.Report("add `node:` with "+strings.Join(ClassifierNodes(), " or "),
			"a classifier target needs the node that classifies")
	}
	needsSites(n, "classifier")
	return OfClassifier(c)
}

func (c ClassifierConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	bot, site, err := p.Site(c.SiteConfig)
	if err != nil {
		return nil, err
	}
	node, err := ClassifierNode(bot, c.Node)
	if err != nil {
		return nil, err
	}
	return &Classifier{Node: node, Site: site}, nil
}

// ClassifierNode returns the node of a chatbot that a configuration calls by one of ClassifierNodes.
func ClassifierNode(bot *sitebot.Bot, node string) (*sitebot.Classifier, error) {
	return bot.Classifier(map[string]string{
		"intent-classifier": prompt.IntentClassifier, "skill-selector": prompt.SkillSelector,
	}[node])
}

// on returns the same node of another chatbot.
func (c ClassifierConfig) on(site SiteConfig) Options {
	c.SiteConfig = site
	return c
}
