package wire

import (
	"slices"
)

// ReportProblem reports a problem that stops nothing.
func (s *shared) ReportProblem(text string) {
	if s.Warn != nil {
		s.Warn(s.secrets.Text(text))
	}
}

// warnOnce reports a problem that targets found while they were asked, once, and keeps it for Warnings.
func (s *shared) warnOnce(text string) {
	text = s.secrets.Text(text)
	s.telling.Lock()
	known := slices.Contains(s.told, text) || len(s.told) >= maxTold
	if !known {
		s.told = append(s.told, text)
	}
	s.telling.Unlock()
	if !known {
		s.ReportProblem(text)
	}
}

// WarnOnce reports a problem that stops nothing, once, and keeps it for Warnings.
func (s *Setup) WarnOnce(text string) { s.warnOnce(text) }

// maxTold bounds how many problems of targets are kept.
const maxTold = 100

// Warnings returns the problems that targets found while they were asked, each once.
func (s *shared) Warnings() []string {
	s.telling.Lock()
	defer s.telling.Unlock()
	return slices.Clone(s.told)
}
