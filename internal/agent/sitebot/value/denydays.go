package value

import "strings"

// Words that say of a day that it does not suit, in all languages, and those that take that back.
var (
	// deniers stand before a day, or behind it.
	deniers = set(`not wont cant dont doesnt isnt wouldnt couldnt never cannot no nor neither except excluding pas jamais sauf excepte hors nunca tampoco excepto salvo nicht nie niemals kein keine keinen keiner
		keinem ausser statt anstatt anstelle weder non tranne eccetto nao exceto niet nooit geen behalve without`)
	// deniersOfTwo are those of several words.
	deniersOfTwo = spelled(`instead of; rather than; anstelle von|der|des; au lieu de|du|d; a la place de|du|d; plutot que|qu; en lugar|vez de|del; invece di|del|della|che; al posto di|del
		em vez|lugar de|do|da; no lugar de|do|da; ao inves de|do|da; in plaats van; other than`)
	// unfit stand behind a day only.
	unfit = set(`impossible unavailable impossibile imposible impossivel unmoglich unmoeglich onmogelijk indisponible ungunstig`)
	// asking make of a denier behind them a proposal: why not Monday.
	asking = set("why pourquoi warum wieso perche que waarom")
	// harmless make of a denier before them nothing: no problem.
	harmless = set(`problem problems problema probleme problemes problemi problemas probleem worries worry souci soucis issue issues doubt matter hay c dia fim final proximo
		mes inicio comeco e meu nosso seu only solo`)
	// hourly make of a denier behind a day something about its hours: Monday, but not before ten.
	hourly = set("before after until too later earlier vor nach zu avant apres trop tard antes despues demasiado prima dopo troppo tardi depois voor na te plus mas piu mais")
	// turns begin another thought.
	turns = set("but mais aber sondern pero sino ma mas maar bensi")
)

// deny marks the items that a denier takes away: the next one within three words, else the one before it.
func (s *scanner) deny() {
	if len(s.items) == 0 {
		return
	}
	for i := 0; i < len(s.toks); i++ {
		if s.itemAt(i) >= 0 {
			continue
		}
		n := s.denierAt(i)
		if n == 0 || asking[s.wordAt(i-1)] && (s.wordAt(i-1) != "que" || strings.HasPrefix(s.wordAt(i-2), "por")) {
			continue
		}
		if next := s.within(i+n, 1); next >= 0 {
			s.items[next].denied = true
		} else if last := s.within(i-1, -1); last >= 0 && !hourly[s.wordAt(i+n)] {
			s.items[last].denied = true
		}
		i += n - 1
	}
}

// itemAt returns the item that has a token; -1 for none.
func (s *scanner) itemAt(i int) int {
	for n := range s.items {
		if it := &s.items[n]; it.from <= i && i < it.to {
			return n
		}
	}
	return -1
}

// denierAt returns how many tokens a denier takes that begins at one; 0 for none.
func (s *scanner) denierAt(i int) int {
	w := s.wordAt(i)
	if n := firstOf(s.ahead(i), deniersOfTwo); n > 0 {
		return n
	}
	switch {
	case w == "no" && (s.wordAt(i+1) == "sabado" || s.wordAt(i+1) == "domingo"): // Portuguese: on Saturday
		return 0
	case w == "but" && s.itemAt(i-1) >= 0 && s.items[s.itemAt(i-1)].kind == anyKind: // any day but Monday
		return 1
	case deniers[w] && !harmless[s.wordAt(i+1)], unfit[w]:
		return 1
	case w == "t" && strings.HasSuffix(s.wordAt(i-1), "n") && s.glued(i): // don't
		return 1
	}
	return 0
}

// within returns the item that comes within three words in a direction and the same clause; -1 for none.
func (s *scanner) within(i, step int) int {
	for words := 0; i >= 0 && i < len(s.toks); i += step {
		if n := s.itemAt(i); n >= 0 {
			return n
		}
		if s.toks[i].kind == mark && strings.Contains(",;:.!?\n…", s.toks[i].text) || turns[s.toks[i].text] {
			return -1
		}
		if s.toks[i].kind == word {
			words++
		}
		if words >= reach {
			return -1
		}
	}
	return -1
}
