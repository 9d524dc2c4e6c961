package runlog

// pass passes over a field that is a string.
func (b *Brief) pass(name string) {
	if b.key(name) {
		b.quoted()
	}
}

func (b *Brief) wordOf(name string, into *string) {
	if b.key(name) {
		*into = b.word()
	}
}

func (b *Brief) textOf(name string, into *string) {
	if b.key(name) {
		*into = b.quoted().text()
	}
}

// saidOf is textOf for what only Texts includes.
func (b *Brief) saidOf(name string, into *string) {
	if !b.key(name) {
		return
	}
	if q := b.quoted(); b.texts {
		*into = q.text()
	}
}

func (b *Brief) numberOf(name string, into *float64) {
	if b.key(name) {
		*into = b.number()
	}
}

func (b *Brief) intOf(name string, into *int) {
	if b.key(name) {
		*into = b.integer()
	}
}

func (b *Brief) truthOf(name string, into *bool) {
	if b.key(name) {
		*into = b.truth()
	}
}

func (b *Brief) whole(name string, into any) {
	if b.key(name) {
		b.as(into)
	}
}
