package site

// Why a message is refused beside the abuse gate. The values are the codes of problem documents.
const (
	RateLimited  = "rate_limited"
	TooManyTurns = "too_many_turns"
	SiteBusy     = "site_busy"
	BudgetSpent  = "budget_spent"
	SessionFull  = "session_full"
)

// refusalTexts are what visitors read whose message is refused, by language: for those who are too fast, for a site
// that can take no more, and for a conversation that is too long.
//

var refusalTexts = map[string][3]string{
	English: {
		"You are sending messages too quickly. Please wait a moment and try again.",
		"The assistant is very busy right now. Please try again later.",
		"This conversation has become too long. Please start a new one.",
	},
	"fr": {
		"Vous envoyez des messages trop rapidement. Veuillez patienter un instant, puis réessayer.",
		"L'assistant est très sollicité en ce moment. Veuillez réessayer plus tard.",
		"Cette conversation est devenue trop longue. Veuillez en commencer une nouvelle.",
	},
	"es": {
		"Estás enviando mensajes demasiado rápido. Espera un momento e inténtalo de nuevo.",
		"El asistente está muy ocupado en este momento. Inténtalo más tarde.",
		"Esta conversación es demasiado larga. Empieza una nueva.",
	},
	"de": {
		"Sie senden zu schnell Nachrichten. Bitte warten Sie einen Moment und versuchen Sie es erneut.",
		"Der Assistent ist gerade sehr ausgelastet. Bitte versuchen Sie es später erneut.",
		"Dieses Gespräch ist zu lang geworden. Bitte beginnen Sie ein neues.",
	},
	"it": {
		"Stai inviando messaggi troppo velocemente. Attendi un momento e riprova.",
		"L'assistente è molto occupato in questo momento. Riprova più tardi.",
		"Questa conversazione è diventata troppo lunga. Iniziane una nuova.",
	},
	"pt": {
		"Você está enviando mensagens rápido demais. Aguarde um momento e tente novamente.",
		"O assistente está muito ocupado no momento. Tente novamente mais tarde.",
		"Esta conversa ficou longa demais. Comece uma nova.",
	},
	"nl": {
		"U verstuurt te snel berichten. Wacht even en probeer het opnieuw.",
		"De assistent is op dit moment erg druk. Probeer het later opnieuw.",
		"Dit gesprek is te lang geworden. Begin een nieuw gesprek.",
	},
}

// Refused returns what to tell one of the site's visitors whose message is refused for a reason, which is one of the
// constants: in the visitor's language, else the site's, else English.
func (s *Site) Refused(reason, requested string) string {
	which := 0
	switch reason {
	case SiteBusy, BudgetSpent:
		which = 1
	case SessionFull:
		which = 2
	}
	return refusalTexts[s.spoken(requested)][which]
}

// spoken returns the language of built-in texts for a visitor: the one asked for, else the site's, else English.
func (s *Site) spoken(requested string) string {
	for _, language := range []string{Primary(requested), s.Language} {
		if _, known := refusalTexts[language]; known {
			return language
		}
	}
	return English
}
