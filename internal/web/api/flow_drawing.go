package api

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
)

// The media types of a drawing.
const (
	mediaSVG     = "image/svg+xml"
	mediaMermaid = "text/vnd.mermaid"
)

// drawFlow is GET /api/v1/flows/{flow_id}/drawing: SVG, or Mermaid for those who accept it.
func (s *Flows) drawFlow(w http.ResponseWriter, r *http.Request) {
	f, err := s.Library.Find(r.PathValue("flow_id"))
	if err != nil {
		p := problemOf(err)
		p.Pointer = nil // the request has no body
		writeProblem(w, p)
		return
	}
	media, write := mediaSVG, draw.SVG
	if strings.Contains(strings.ToLower(r.Header.Get("Accept")), mediaMermaid) {
		media, write = mediaMermaid, draw.Mermaid
	}
	var picture bytes.Buffer
	if err := write(&picture, f.Drawing()); err != nil {
		writeProblem(w, newProblem(http.StatusUnprocessableEntity, codeInvalid, clip(err.Error(), maxDetail),
			"GET the flow itself for its nodes"))
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", media)
	w.Header().Set("Vary", "Accept")
	_, _ = w.Write(picture.Bytes())
}
