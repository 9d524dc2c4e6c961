package sitebot

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

// markerOf is the marker that a skill asks an answer for.
var markerOf = map[Skill]string{
	RequestQualification: marker.Question, ProposeDemoSkill: marker.Demo, RequestEmail: marker.Email,
}

// believed returns the markers that a node's answer may hold: those of the skills that were applied in this turn.
func (b *Bot) believed(node string, s *State) []string {
	switch {
	case b.MarkersStand:
		return marker.All()
	case node != prompt.AnswerWriter || s.Skills == nil:
		return nil
	}
	var all []string
	for _, k := range s.Skills.Applied {
		if m := markerOf[k]; m != "" {
			all = append(all, m)
		}
	}
	return all
}

// markerFilter passes an answer on, piece by piece, without the markers that are not believed. A marker goes with its
// skin tone or variation selector and one space, as the page takes them out.
type markerFilter struct {
	believed []string
	out      graph.TokenSink
	// said is what was passed on.
	said     strings.Builder
	stripped bool
	// rest is the beginning of a character that is not whole yet.
	rest string
	// behind says what may still be taken out behind a marker.
	behind afterMarker
}

type afterMarker int

const (
	nothingBehind afterMarker = iota
	spaceBehind
	modifierBehind
)

// token takes the next piece of the answer.
func (f *markerFilter) token(ctx context.Context, piece string) error {
	piece, f.rest = f.rest+piece, ""
	if n := unfinished(piece); n > 0 {
		piece, f.rest = piece[:len(piece)-n], piece[len(piece)-n:]
	}
	return f.pass(ctx, f.without(piece))
}

// end passes on what was held back.
func (f *markerFilter) end(ctx context.Context) error {
	rest := f.rest
	f.rest = ""
	return f.pass(ctx, rest)
}

func (f *markerFilter) pass(ctx context.Context, piece string) error {
	if piece == "" {
		return nil
	}
	f.said.WriteString(piece)
	return f.out(ctx, piece)
}

// without returns a piece without the markers that are not believed.
func (f *markerFilter) without(piece string) string {
	if f.behind == nothingBehind && !slices.ContainsFunc(marker.All(), func(m string) bool {
		return strings.Contains(piece, m)
	}) {
		return piece
	}
	var b strings.Builder
	for _, r := range piece {
		switch {
		case slices.Contains(marker.All(), string(r)) && !slices.Contains(f.believed, string(r)):
			f.stripped, f.behind = true, modifierBehind
			continue
		case f.behind == modifierBehind && marker.IsModifier(r):
			f.behind = spaceBehind
			continue
		case f.behind != nothingBehind && r == ' ':
			f.behind = nothingBehind
			continue
		}
		f.behind = nothingBehind
		b.WriteRune(r)
	}
	return b.String()
}

// unfinished returns how many bytes at the end of a text begin a character and do not end it.
func unfinished(text string) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if utf8.RuneStart(text[len(text)-n]) {
			if utf8.FullRuneInString(text[len(text)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
