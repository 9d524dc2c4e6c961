package runindex

// pass passes over a field that is a string.
func (b *brief) pass(name string) {
	if b.key(name) {
		b.quoted()
	}
}

func (b *brief) wordOf(name string, into *string) {
	if b.key(name) {
		*into = b.word()
	}
}

func (b *brief) textOf(name string, into *string) {
	if b.key(name) {
		*into = b.quoted().text()
	}
}

// saidOf is textOf for what only those need who ask for texts.
func (b *brief) saidOf(name string, into *string) {
	if !b.key(name) {
		return
	}
	if q := b.quoted(); b.texts {
		*into = q.text()
	}
}

func (b *brief) numberOf(name string, into *float64) {
	if b.key(name) {
		*into = b.number()
	}
}

func (b *brief) intOf(name string, into *int) {
	if b.key(name) {
		*into = b.integer()
	}
}

func (b *brief) truthOf(name string, into *bool) {
	if b.key(name) {
		*into = b.truth()
	}
}

func (b *brief) whole(name string, into any) {
	if b.key(name) {
		b.as(into)
	}
}
