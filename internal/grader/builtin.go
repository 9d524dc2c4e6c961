package grader

// Builtin lists every kind of grader in the order of the reference.
func Builtin() []Kind {
	return []Kind{
		{Name: "contains", Group: TextGroup, New: newContains, Doc: "the reply holds value; case counts; 1 or 0"},
		{Name: "icontains", Group: TextGroup, New: newIContains, Doc: "the reply holds value; case is ignored; 1 or 0"},
	}
}
