package wire

import (
	"io"
	"log/slog"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
)

// Log returns a log on w, as text or json, whose lines have the ids of what they are about, and nothing that was said.
// It discards everything for the format off; ok is false for an unknown one.
func Log(w io.Writer, format string) (log *slog.Logger, ok bool) {
	switch format {
	case "text":
		return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, nil))), true
	case "json":
		return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, nil))), true
	case "off":
		return slog.New(slog.DiscardHandler), true
	}
	return nil, false
}
