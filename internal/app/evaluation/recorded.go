package evaluation

import (
	"fmt"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// DefaultAnswerThreshold is the score from which an answer is good, when nothing else is said.
const DefaultAnswerThreshold = 0.70

// RecordedConfig says which chatbot continues recorded conversations. The zero value means the chatbots of the
// configuration.
type RecordedConfig struct {
	// Sites is the folder of sites, or the file of one; empty means those of the configured targets. Prompts is the
	// folder of their prompts.
	Sites, Prompts string
	// Site is the site of all items; empty means the one that each item names, or the only one.
	Site string
	// Judged is true where a judge compares answers with what is expected; else assertions alone count.
	Judged bool
}

// Recorded are the items of a dataset as tests, with the chatbots that continue them. It is not safe for concurrent
// use.
type Recorded struct {
	From  dataset.Name
	Tests []*dataset.Test
	// Config is the configuration that applies to the dataset.
	Config config.File
	setup  *wire.Setup
	sites  *chatbot.NamedSites
}

// ReadRecorded makes tests of the items of a dataset, with the configuration nearest to it. Nothing is asked.
func ReadRecorded(s *wire.Setup, from dataset.Name, items []dataset.Record, c RecordedConfig) (*Recorded, error) {
	s, err := s.At(filepath.Dir(from.String()))
	if err != nil {
		return nil, err
	}
	r := &Recorded{From: from, Config: s.Config(), setup: s}
	if r.sites, err = s.NamedSites(target.SiteConfig{Dir: c.Sites, Prompts: c.Prompts}, c.Site); err != nil {
		return nil, err
	}
	if c.Site != "" { // a mistake of whoever asked, not of each item
		if _, err := r.sites.Find(c.Site); err != nil {
			return nil, source.Invalid("--site: %w", err)
		}
	}
	r.Tests, err = dataset.Tests(items, dataset.TestsConfig{
		Origin: from.String(), Judged: c.Judged, Site: r.sites.Find, Check: grader.New(grader.Config{}).Validate,
	})
	return r, err
}

// Only leaves only the first test whose query or id holds a part. Others says that more of them do; it is empty where
// none does.
func (r *Recorded) Only(part string) (others string, err error) {
	found := dataset.Matching(r.Tests, part)
	if len(found) == 0 {
		return "", source.Invalid("no item has %q in its query or id", part)
	}
	if len(found) > 1 {
		others = fmt.Sprintf(
			"%d items hold %q; the first, %s, is taken: name more of the query, or the id, for another",
			len(found), part, text.OneLine(found[0].ID, shownID))
	}
	r.Tests = found[:1]
	return others, nil
}

// shownID bounds an item's id in a sentence, in characters.
const shownID = 200

// Setup returns a setup that has the sites of the tests as targets.
func (r *Recorded) Setup() *wire.Setup { return r.setup.With(r.sites.Targets()) }

// Suites are the tests as one suite.
func (r *Recorded) Suites() []*suite.Suite {
	return []*suite.Suite{dataset.SuiteOf(r.From.Title(), r.From.String(), r.Tests)}
}

// Playback returns a chatbot of the tests' sites that asks one model and nothing else.
func (r *Recorded) Playback(model llm.Model) (*sitebot.Bot, error) { return r.sites.Playback(model) }
