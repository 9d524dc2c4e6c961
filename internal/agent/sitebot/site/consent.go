package site

import (
	"slices"
	"strings"
	"unicode"
)

// yesWords are ways to accept what was just proposed. Several in a row are one too: "yes, sure".
//

var yesWords = map[string][]string{
	English: {
		"yes", "y", "yes please", "yep", "yeah", "yup", "sure", "of course", "ok", "okay", "please", "please do", "sounds good", "go ahead",
		"let's do it", "let's go", "why not", "absolutely", "definitely", "gladly", "with pleasure", "i'd love to", "i'd like that", "great", "perfect",
	},
	"fr": {
		"oui", "oui svp", "oui merci", "ouais", "ok", "d'accord", "bien sûr", "bien sur", "volontiers", "avec plaisir", "s'il vous plaît", "s'il vous plait", "svp",
		"s'il te plaît", "s'il te plait", "pourquoi pas", "allons-y", "allez-y", "vas-y", "c'est parti", "parfait",
		"entendu", "absolument", "tout à fait",
	},
	"es": {
		"sí", "si", "claro", "claro que sí", "por supuesto", "vale", "de acuerdo", "por favor", "adelante", "perfecto", "con gusto", "me encantaría",
		"genial", "vamos", "ok", "está bien", "por qué no", "dale",
	},
	"de": {
		"ja", "jawohl", "ja bitte", "ja gerne", "ja gern", "gerne", "gern", "klar", "na klar", "natürlich", "sicher", "ok", "okay", "einverstanden", "bitte",
		"sehr gerne", "sehr gern", "warum nicht", "auf jeden fall", "selbstverständlich", "perfekt", "passt", "in ordnung",
	},
	"it": {
		"sì", "si", "certo", "certamente", "va bene", "volentieri", "d'accordo", "per favore", "grazie sì", "con piacere", "perché no", "perfetto",
		"ok", "assolutamente", "assolutamente sì", "andiamo", "sì grazie",
	},
	"pt": {
		"sim", "claro", "claro que sim", "com certeza", "ok", "por favor", "pode ser", "vamos", "perfeito", "com prazer", "está bem", "tá bom",
		"combinado", "por que não", "de acordo", "bora", "quero", "quero sim",
	},
	"nl": {
		"ja", "ja graag", "graag", "jazeker", "zeker", "natuurlijk", "prima", "oké", "oke", "ok", "akkoord", "alsjeblieft", "alstublieft", "goed",
		"is goed", "waarom niet", "doe maar", "perfect", "dat is goed",
	},
}

// refusalWords are ways not to answer a question. A plain no is an answer, so it is not among them.
//

var refusalWords = map[string][]string{
	English: {
		"skip", "skip it", "skip this", "skip that", "pass", "i pass", "next", "next question", "no thanks", "no thank you",
		"no answer", "prefer not to say",
		"i prefer not to say", "i'd rather not say", "rather not say", "i'd rather not", "none of your business", "i won't say", "no comment", "not now",
	},
	"fr": {
		"passer", "je passe", "passe", "passons", "suivant", "question suivante", "non merci", "je préfère ne pas répondre",
		"je préfère ne pas le dire",
		"je ne préfère pas", "sans réponse", "pas maintenant", "ça ne vous regarde pas", "sans commentaire", "joker",
	},
	"es": {
		"saltar", "omitir", "paso", "siguiente", "siguiente pregunta", "no gracias", "prefiero no decirlo",
		"prefiero no responder", "prefiero no contestar",
		"sin respuesta", "ahora no", "sin comentarios",
	},
	"de": {
		"überspringen", "ueberspringen", "weiter", "nächste frage", "nein danke", "keine angabe", "keine antwort", "möchte ich nicht sagen",
		"das möchte ich nicht sagen", "sage ich nicht", "das sage ich nicht", "lieber nicht", "jetzt nicht", "kein kommentar",
	},
	"it": {
		"salta", "saltare", "passo", "avanti", "prossima domanda", "no grazie", "preferisco non dirlo", "preferisco non rispondere", "nessuna risposta",
		"non ora", "nessun commento",
	},
	"pt": {
		"pular", "pule", "saltar", "passo", "próxima", "próxima pergunta", "não obrigado", "não obrigada",
		"prefiro não dizer", "prefiro não responder",
		"sem resposta", "agora não", "sem comentários",
	},
	"nl": {
		"overslaan", "sla over", "pas", "volgende", "volgende vraag", "nee bedankt", "nee dank je", "nee dank u", "zeg ik liever niet",
		"dat zeg ik liever niet", "liever niet", "geen antwoord", "nu niet", "geen commentaar",
	},
}

// RefusalWords returns the ways not to answer a question in all languages, in lower case and without punctuation.
func RefusalWords() []string { return inAll(refusalWords) }

// inAll joins the lists of all languages.
func inAll(words map[string][]string) []string {
	var all []string
	for _, language := range Languages() {
		all = append(all, words[language]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Accepts reports whether a message says nothing but yes, in any of the languages, however it is punctuated.
func Accepts(message string) bool { return made(plainWords(message), yesWords) }

// Declines reports whether a message gives no answer to a question: it is blank, or says so in any of the languages.
func Declines(message string) bool {
	return strings.TrimSpace(message) == "" || made(plainWords(message), refusalWords)
}

// maxWords is the longest message that is looked at: consent is short.
const maxWords = 12

// made reports whether words are phrases of one language after another.
func made(words []string, phrases map[string][]string) bool {
	if len(words) == 0 || len(words) > maxWords {
		return false
	}
	for _, language := range Languages() {
		if consistsOf(words, phrases[language]) {
			return true
		}
	}
	return false
}

func consistsOf(words, phrases []string) bool {
	reached := make([]bool, len(words)+1) // reached[i]: the first i words are phrases
	reached[0] = true
	for i := range words {
		for end := i + 1; reached[i] && end <= len(words); end++ {
			if slices.Contains(phrases, strings.Join(words[i:end], " ")) {
				reached[end] = true
			}
		}
	}
	return reached[len(words)]
}

// plainWords returns the words of a message in lower case, without punctuation, emoji and the marks above capital letters' case.
func plainWords(message string) []string {
	message = strings.ReplaceAll(strings.ToLower(message), "’", "'")
	return strings.FieldsFunc(message, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '-'
	})
}
