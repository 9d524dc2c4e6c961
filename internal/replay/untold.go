package replay

// untold takes out of a lane's metrics what its agent does not report: states, ends or data. A state that is not
// reported is not a wrong state, and a conversation that cannot complete has not failed to; nor has one that is
// censored.
func (l *Variation) untold(m *Metrics) {
	if m.Censored = l.Censored; l.Censored {
		m.CompletionMatch, m.Completed, m.CompletedOnPath, m.CompletedOffPath = nil, nil, nil, nil
	}
	if l.NoStates {
		m.StateProgression, m.FirstDivergence, m.Sequence, l.Alignment = nil, nil, nil, nil
	}
	if l.Endless {
		m.CompletionMatch, m.CompletionSeconds = nil, nil
		m.Completed, m.CompletedOnPath, m.CompletedOffPath, m.EndedEarly = nil, nil, nil, nil
	}
	if l.NoData {
		m.DataAccuracy, m.DataMatch, m.NormalAccuracy = nil, nil, nil
	}
	if on := m.OnSupport; on != nil {
		if l.NoData {
			on.DataAccuracy = nil
		}
		if l.NoStates {
			on.StateProgression = nil
		}
		if l.Endless || l.Censored {
			on.CompletionMatch = nil
		}
	}
}
