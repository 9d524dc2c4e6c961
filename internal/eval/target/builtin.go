package target

// Kinds lists the kinds of target.
func Kinds() Table {
	return Table{
		modelKind(),
		flowKind(),
		httpKind(),
		executeKind(),
		websocketKind(),
		a2aKind(),
		commandKind(),
		sitebotKind(),
		classifierKind(),
	}
}
