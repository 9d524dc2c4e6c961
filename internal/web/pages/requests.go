package pages

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/artifact"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxAsked bounds how many exchanges with judges a page shows of one conversation.
const (
	maxAsked     = 50
	maxAskedText = 20_000
)

// asked fills in what judges were asked, as far as the run has kept it in its folder.
func (k *shownConversation) asked(ctx context.Context, dir string, t *result.Test) {
	place := artifact.Folder{Dir: filepath.Join(dir, runlog.ArtifactDir)}
	by := map[int][]transcript.Exchange{}
	shown := 0
	for _, a := range t.Artifacts {
		if a.Kind != collect.JudgePrompt && a.Kind != collect.JudgeReply || shown >= 2*maxAsked {
			continue
		}
		data, err := place.Get(ctx, a.SHA256)
		if err != nil {
			continue // it is not kept any more
		}
		shown++
		turn := 0
		if a.Turn != nil {
			turn = *a.Turn
		}
		said := transcript.Pretty(json.RawMessage(data))
		if !json.Valid(data) {
			said = text.Beginning(string(data), maxAskedText)
		}
		last := len(by[turn]) - 1
		switch {
		case a.Kind == collect.JudgePrompt:
			by[turn] = append(by[turn], transcript.Exchange{Prompt: said})
		case last >= 0 && by[turn][last].Reply == "":
			by[turn][last].Reply = said
		default:
			by[turn] = append(by[turn], transcript.Exchange{Reply: said})
		}
	}
	k.Judge = by[0]
	for i := range k.Turns {
		k.Turns[i].Judge = by[k.Turns[i].N]
	}
}
