package variants

import (
	"bytes"
	"io"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Limits of a replay run's page, so that a browser shows it at once.
const (
	maxPairs   = 500     // sessions
	maxHTML    = 4 << 20 // bytes of the page as far as the last session side by side
	leastHTML  = 1 << 20 // bytes of sessions side by side, however long the lists are
	maxMisfits = 10      // sessions that are tried after the room has become too small for one
)

// HTML writes the report of a replay run as one self-contained page: no script, nothing from the network, every text escaped.
// The sessions that differ most come first. At most 500 are listed, and as many of these side by side as a page of 4 MB holds; what is left
// out is said.
func HTML(w io.Writer, r *replay.Report) error {
	pairs := mostDifferent(r.Sessions)
	pairs = pairs[:min(len(pairs), maxPairs)]
	anchors, places := anchorsOf(pairs)
	top := topOf(r, places)
	heads := make([]pairHead, len(pairs))
	for i, p := range pairs {
		heads[i] = pairHeadOf(p)
		heads[i].Anchor = anchors[i]
		heads[i].Open = i == 0 && len(pairs) > 1 && heads[i].Kind != "same" && heads[i].Kind != "out"
	}
	top.Filters, top.Shown, top.All = filtersOf(heads), len(pairs), max(r.Run.Sessions+r.Run.PairsDropped, len(r.Sessions))
	var body bytes.Buffer
	if err := pageTemplate().ExecuteTemplate(&body, "replay-top", top); err != nil {
		return err
	}
	room, misfits := max(maxHTML-body.Len(), leastHTML), 0
	if _, err := w.Write(body.Bytes()); err != nil {
		return err
	}
	for i, p := range pairs {
		body.Reset()
		fits := misfits < maxMisfits
		if fits {
			if err := pageTemplate().ExecuteTemplate(&body, "pair-body", pairViewOf(r, p)); err != nil {
				return err
			}
			fits = body.Len() <= room
		}
		if fits {
			room -= body.Len()
		} else {
			misfits++
			top.Lines++
		}
		if err := writePair(w, &heads[i], body.Bytes(), fits); err != nil {
			return err
		}
	}
	return pageTemplate().ExecuteTemplate(w, "replay-bottom", top)
}

// writePair writes a session with what is inside, or its line alone where that does not fit any more.
func writePair(w io.Writer, h *pairHead, body []byte, fits bool) error {
	if !fits {
		return pageTemplate().ExecuteTemplate(w, "pair-row", h)
	}
	if err := pageTemplate().ExecuteTemplate(w, "pair-open", h); err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	return pageTemplate().ExecuteTemplate(w, "pair-close", nil)
}
