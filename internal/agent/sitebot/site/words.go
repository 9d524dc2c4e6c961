package site

import (
	"slices"
	"strings"
	"unicode"
)

// words are the words that rules look for in messages, by language: each list is separated by |, in lower case and
// without punctuation.
type words struct {
	// yes accepts a proposal, and skip leaves a question unanswered. A plain no is an answer.
	yes, skip string
	// not cancels a value next to it, but for phrases in harmless, which only look like it.
	not, harmless string
}

var wordsBy = map[string]words{
	English: {
		yes: "yes|y|yes please|yep|yeah|yup|sure|of course|ok|okay|please|please do|sounds good|" +
			"go ahead|let's do it|let's go|why not|absolutely|definitely|gladly|with pleasure|" +
			"i'd love to|i'd like that|great|perfect",
		skip: "skip|skip it|skip this|skip that|pass|i pass|next|next question|no thanks|no thank you|" +
			"no answer|prefer not to say|i prefer not to say|i'd rather not say|rather not say|" +
			"i'd rather not|none of your business|i won't say|no comment|not now",
		not: "not|don't|dont|doesn't|isn't|won't|wont|can't|cant|couldn't|wouldn't|never|no|nor|" +
			"cannot|instead of|rather than|except",
		harmless: "no problem|no worries|phone no|tel no|telephone no|mobile no|cell no|contact no",
	},
	"fr": {
		yes: "oui|oui svp|oui merci|ouais|ok|d'accord|bien sûr|bien sur|volontiers|avec plaisir|" +
			"s'il vous plaît|s'il vous plait|svp|s'il te plaît|s'il te plait|pourquoi pas|allons-y|" +
			"allez-y|vas-y|c'est parti|parfait|entendu|absolument|tout à fait",
		skip: "passer|je passe|passe|passons|suivant|question suivante|non merci|" +
			"je préfère ne pas répondre|je préfère ne pas le dire|je ne préfère pas|sans réponse|" +
			"pas maintenant|ça ne vous regarde pas|sans commentaire|joker",
		not: "pas|jamais|n'est plus|sauf|au lieu de|au lieu du|à la place de|à la place du|plutôt que|" +
			"plutot que",
		harmless: "pas de problème|pas de souci",
	},
	"es": {
		yes: "sí|si|claro|claro que sí|por supuesto|vale|de acuerdo|por favor|adelante|perfecto|" +
			"con gusto|me encantaría|genial|vamos|ok|está bien|por qué no|dale",
		skip: "saltar|omitir|paso|siguiente|siguiente pregunta|no gracias|prefiero no decirlo|" +
			"prefiero no responder|prefiero no contestar|sin respuesta|ahora no|sin comentarios",
		not:      "no|nunca|tampoco|excepto|salvo|en lugar de|en lugar del|en vez de|en vez del",
		harmless: "no hay problema",
	},
	"de": {
		yes: "ja|jawohl|ja bitte|ja gerne|ja gern|gerne|gern|klar|na klar|natürlich|sicher|ok|okay|" +
			"einverstanden|bitte|sehr gerne|sehr gern|warum nicht|auf jeden fall|selbstverständlich|" +
			"perfekt|passt|in ordnung",
		skip: "überspringen|ueberspringen|weiter|nächste frage|nein danke|keine angabe|keine antwort|" +
			"möchte ich nicht sagen|das möchte ich nicht sagen|sage ich nicht|das sage ich nicht|" +
			"lieber nicht|jetzt nicht|kein kommentar",
		not: "nicht|nie|niemals|kein|keine|keinen|keiner|keinem|außer|ausser|statt|anstatt|anstelle|" +
			"anstelle von",
		harmless: "kein problem",
	},
	"it": {
		yes: "sì|si|certo|certamente|va bene|volentieri|d'accordo|per favore|grazie sì|con piacere|" +
			"perché no|perfetto|ok|assolutamente|assolutamente sì|andiamo|sì grazie",
		skip: "salta|saltare|passo|avanti|prossima domanda|no grazie|preferisco non dirlo|" +
			"preferisco non rispondere|nessuna risposta|non ora|nessun commento",
		not: "non|tranne|invece di|invece del|invece della|al posto di|al posto del|" +
			"al posto della|anziché|anziche",
	},
	"pt": {
		yes: "sim|claro|claro que sim|com certeza|ok|por favor|pode ser|vamos|perfeito|com prazer|" +
			"está bem|tá bom|combinado|por que não|de acordo|bora|quero|quero sim",
		skip: "pular|pule|saltar|passo|próxima|próxima pergunta|não obrigado|não obrigada|" +
			"prefiro não dizer|prefiro não responder|sem resposta|agora não|sem comentários",
		not: "não|nao|nunca|exceto|em vez de|em vez do|em vez da|em lugar de|em lugar do|em lugar da|" +
			"no lugar de|no lugar do|no lugar da|ao invés de",
		harmless: "no meu|no seu|no nosso|no dia|no email|no e-mail|no número|no numero|no telefone|" +
			"no celular|no telemóvel|no whatsapp|liga no|ligue no|ligar no",
	},
	"nl": {
		yes: "ja|ja graag|graag|jazeker|zeker|natuurlijk|prima|oké|oke|ok|akkoord|alsjeblieft|" +
			"alstublieft|goed|is goed|waarom niet|doe maar|perfect|dat is goed",
		skip: "overslaan|sla over|pas|volgende|volgende vraag|nee bedankt|nee dank je|nee dank u|" +
			"zeg ik liever niet|dat zeg ik liever niet|liever niet|geen antwoord|nu niet|" +
			"geen commentaar",
		not:      "niet|nooit|geen|behalve|in plaats van",
		harmless: "geen probleem",
	},
}

// lists are the words of a kind in each language, in the order of Languages.
func lists(kind func(words) string) (all [][]string) {
	for _, language := range Languages() {
		if list := kind(wordsBy[language]); list != "" {
			all = append(all, strings.Split(list, "|"))
		}
	}
	return all
}

var (
	yesWords      = lists(func(w words) string { return w.yes })
	skipWords     = lists(func(w words) string { return w.skip })
	notWords      = slices.Concat(lists(func(w words) string { return w.not })...)
	harmlessWords = slices.Concat(lists(func(w words) string { return w.harmless })...)
)

// RefusalWords returns the ways not to answer a question in all languages, in lower case and without punctuation.
func RefusalWords() []string { return slices.Concat(skipWords...) }

// Accepts reports whether a message says nothing but yes, in any of the languages, however it is punctuated.
func Accepts(message string) bool { return made(plainWords(message), yesWords) }

// Declines reports whether a message gives no answer to a question: it is blank, or says so in any of the languages.
func Declines(message string) bool {
	return strings.TrimSpace(message) == "" || made(plainWords(message), skipWords)
}

// Negates reports whether a text ends with words of any language that cancel a value next to them, or with words that
// only look like it.
func Negates(words []string) (cancels, harmless bool) {
	text := " " + strings.Join(words, " ")
	ends := func(phrase string) bool { return strings.HasSuffix(text, " "+phrase) }
	return slices.ContainsFunc(notWords, ends), slices.ContainsFunc(harmlessWords, ends)
}

// maxWords is the longest message that is looked at: consent is short.
const maxWords = 12

// made reports whether words are phrases of one language after another.
func made(words []string, phrases [][]string) bool {
	return len(words) > 0 && len(words) <= maxWords &&
		slices.ContainsFunc(phrases, func(of []string) bool { return consistsOf(words, of) })
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

// plainWords returns the words of a message in lower case, without punctuation, emoji and the marks above capital
// letters' case.
func plainWords(message string) []string {
	message = strings.ReplaceAll(strings.ToLower(message), "’", "'")
	return strings.FieldsFunc(message, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '-'
	})
}
