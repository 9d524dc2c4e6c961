package llm

import "slices"

// Menu is what an argument of a tool may be chosen from, for models that choose by themselves, such as Lexical.
// It never goes over the wire: a language model reads the same from the tool's parameters and description.
//
// A menu does not change once a request carries it. It indexes its texts when it is first asked, so whoever keeps a
// menu pays once. It is safe for concurrent use.
type Menu struct {
	// Fixed are the tool's other arguments, which leave nothing to choose, by name. Set it before the menu is used.
	Fixed    map[string]string
	argument string
	options  []Option
	stay     string
	index    index
}

// Option is one choice of a Menu with the texts that say when it fits.
type Option struct {
	// ID is the value that the tool's argument takes.
	ID string
	// Label names the option, When says in a sentence when it fits. Both may be empty.
	Label, When string
	// Examples are what users say who mean this option.
	Examples []string
}

// NewMenu returns the menu of the argument that takes an option's ID.
// Stay is the ID that means that no option fits; it is empty when one must be chosen.
func NewMenu(argument string, options []Option, stay string) *Menu {
	return &Menu{argument: argument, options: slices.Clone(options), stay: stay}
}

// Argument returns the name of the argument that takes an option's ID.
func (m *Menu) Argument() string { return m.argument }

// Options returns the choices in their order.
func (m *Menu) Options() []Option { return slices.Clone(m.options) }

// Stay returns the ID that means that no option fits, or nothing when one must be chosen.
func (m *Menu) Stay() string { return m.stay }
