package answer

// Finds reports whether the pick hits something in a message. Data that is not JSON is a text.
func (p *Pick) Finds(data []byte) bool {
	doc, err := decode(data)
	if err != nil {
		doc = string(data)
	}
	return len(p.hits(event{doc: doc})) > 0
}

// Admitted returns the error that an answer, or an event of a stream with a name, admits by itself: as it is read where
// nothing says how.
func Admitted(name string, data []byte) error {
	doc, err := decode(data)
	if err != nil {
		doc = string(data)
	}
	return (&Spec{}).admits(event{name, doc})
}

// Session returns the agent's id of the conversation, as far as it was found.
func (r *Reading) Session() string { return r.found.Session }

// Page returns ErrHTML for a body that is an HTML page, by its media type or its beginning.
func Page(body []byte, media string) error {
	if mediaType(media) == "text/html" || isHTML(body) {
		return ErrHTML
	}
	return nil
}
