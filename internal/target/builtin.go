package target

// Kinds lists the kinds of target.
func Kinds() Table {
	return Table{
		modelKind(),
		flowKind(),
		httpKind(),
		executeKind(),
		websocketKind(),
		commandKind(),
		sitebotKind(),
		classifierKind(),
	}
}
