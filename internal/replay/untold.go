package replay

// untold takes out of a lane's metrics what its agent does not tell: states, or ends. A state that nobody reports is no wrong state, and a
// conversation that cannot complete has not failed to.
func (l *Lane) untold(m *Metrics) {
	if l.NoStates {
		m.StateProgression, m.FirstDivergence, m.Sequence, l.Alignment = nil, nil, nil, nil
	}
	if l.Endless {
		m.CompletionMatch, m.CompletionSeconds = nil, nil
		m.Completed, m.CompletedOnPath, m.CompletedOffPath, m.EndedEarly = nil, nil, nil, nil
	}
	if on := m.OnSupport; on != nil {
		if l.NoStates {
			on.StateProgression = nil
		}
		if l.Endless {
			on.CompletionMatch = nil
		}
	}
}
