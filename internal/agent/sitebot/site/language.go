package site

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// English is the language of last resort.
const English = "en"

// Languages are those for which there are built-in texts.
func Languages() []string { return []string{English, "fr", "es", "de", "it", "pt", "nl"} }

var primarySubtag = text.Regexp(`^[a-z]{2,3}$`)

// Primary returns the primary subtag of a language tag (BCP 47): "pt" of "pt-BR". It is empty when the tag has none.
func Primary(tag string) string {
	primary, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-"), "-")
	if !primarySubtag().MatchString(primary) {
		return ""
	}
	return primary
}

// LanguageFor returns the language to speak with a visitor who asked for one: that, else the site's. Only the primary
// subtag counts.
func (s *Site) LanguageFor(requested string) string {
	if primary := Primary(requested); primary != "" {
		return primary
	}
	return s.Language
}

// Blocked is the function of that name for one of the site's visitors: in the visitor's language, else the site's, else
// English.
func (s *Site) Blocked(reason, requested string) string {
	for _, language := range []string{Primary(requested), s.Language} {
		if text := gateTexts[language][reason]; text != "" {
			return text
		}
	}
	return Blocked(reason, English)
}

func readLanguage(n source.Node) string {
	primary := Primary(n.Text())
	if primary == "" && n.Kind != source.List && n.Kind != source.Map {
		n.Report("write a language tag such as en or fr-CA", "%q is not a language", clip(n.Scalar))
	}
	return primary
}

// gateTexts are what visitors read whose message is not answered, by language and reason.
//

var gateTexts = map[string]map[string]string{
	English: {
		"hack":   "I'm unable to continue this conversation. Please start a new session.",
		"spam":   "It looks like you've sent the same message several times. Please try asking a different question.",
		"length": "Your message is too long. Please shorten it to 15,000 characters or fewer.",
	},
	"fr": {
		"hack":   "Je ne peux pas poursuivre cette conversation. Veuillez démarrer une nouvelle session.",
		"spam":   "Il semble que vous ayez envoyé plusieurs fois le même message. Essayez de poser une autre question.",
		"length": "Votre message est trop long. Veuillez le limiter à 15 000 caractères.",
	},
	"es": {
		"hack":   "No puedo continuar esta conversación. Por favor, inicia una nueva sesión.",
		"spam":   "Parece que has enviado el mismo mensaje varias veces. Prueba con una pregunta diferente.",
		"length": "Tu mensaje es demasiado largo. Redúcelo a 15.000 caracteres como máximo.",
	},
	"de": {
		"hack":   "Ich kann dieses Gespräch nicht fortsetzen. Bitte starten Sie eine neue Sitzung.",
		"spam":   "Sie haben offenbar mehrmals dieselbe Nachricht gesendet. Bitte stellen Sie eine andere Frage.",
		"length": "Ihre Nachricht ist zu lang. Bitte kürzen Sie sie auf höchstens 15.000 Zeichen.",
	},
	"it": {
		"hack":   "Non posso continuare questa conversazione. Avvia una nuova sessione.",
		"spam":   "Sembra che tu abbia inviato più volte lo stesso messaggio. Prova a fare una domanda diversa.",
		"length": "Il tuo messaggio è troppo lungo. Riducilo a un massimo di 15.000 caratteri.",
	},
	"pt": {
		"hack":   "Não posso continuar esta conversa. Por favor, inicie uma nova sessão.",
		"spam":   "Parece que você enviou a mesma mensagem várias vezes. Tente fazer uma pergunta diferente.",
		"length": "Sua mensagem é longa demais. Reduza-a para no máximo 15.000 caracteres.",
	},
	"nl": {
		"hack":   "Ik kan dit gesprek niet voortzetten. Start een nieuwe sessie.",
		"spam":   "Het lijkt erop dat u hetzelfde bericht meerdere keren hebt verstuurd. Stel een andere vraag.",
		"length": "Uw bericht is te lang. Kort het in tot maximaal 15.000 tekens.",
	},
}

// Blocked returns what to tell a visitor whose message is not answered, because of hack, spam or length. Languages
// without a text get the English one; it is empty for an unknown reason.
func Blocked(reason, language string) string {
	if text := gateTexts[Primary(language)][reason]; text != "" {
		return text
	}
	return gateTexts[English][reason]
}
