package value

import "maps"

import "strings"

// monthNames are the names of the months, from January on, in each language.
var monthNames = [languages]string{
	english:    "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sept|sep october|oct november|nov december|dec",
	french:     "janvier|janv|jan fevrier|fevr|fev mars avril|avr mai juin juillet|juil aout septembre|sept octobre|oct novembre|nov decembre|dec",
	spanish:    "enero|ene febrero|feb marzo|mar abril|abr mayo junio|jun julio|jul agosto|ago septiembre|setiembre|sept|sep octubre|oct noviembre|nov diciembre|dic",
	german:     "januar|janner|jan februar|feber|feb marz|maerz|mrz april|apr mai juni|jun juli|jul august|aug september|sept|sep oktober|okt november|nov dezember|dez",
	italian:    "gennaio|gen febbraio|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug agosto|ago settembre|sett ottobre|ott novembre|nov dicembre|dic",
	portuguese: "janeiro|jan fevereiro|fev marco abril|abr maio junho|jun julho|jul agosto|ago setembro outubro novembro|nov dezembro|dez",
	dutch:      "januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug september|sept|sep oktober|okt november|nov december|dec",
}

// months tells the number of a month by each of its names, in one language.
var months = func() (all [languages]map[string]int) {
	for l := range languages {
		all[l] = map[string]int{}
		for i, names := range strings.Fields(monthNames[l]) {
			for name := range strings.SplitSeq(names, "|") {
				all[l][name] = i + 1
			}
		}
	}
	return all
}()

// anyMonth tells the number of a month by each of its names, in any language.
var anyMonth = func() map[string]int {
	all := map[string]int{}
	for l := range languages {
		maps.Copy(all, months[l])
	}
	return all
}()

// spanWords are how a language says "in three days", "three days ago" and "at the end of May".
type spanWords struct {
	in, from, before, ago, days, weeks, ends, fillers, month string
}

var spans = [languages]spanWords{
	english: {
		in: "in", from: "from now|today; later", ago: "ago", days: "day|days", weeks: "week|weeks",
		ends: "end|late", fillers: "of the", month: "month",
	},
	french: {
		in: "dans; d ici", before: "il y a", days: "jour|jours", weeks: "semaine|semaines",
		ends: "fin", fillers: "du de d le ce mois", month: "mois",
	},
	spanish: {
		in: "en; dentro de; de aqui a", before: "hace", days: "dia|dias", weeks: "semana|semanas",
		ends: "fin|fines|final|finales", fillers: "de del el este mes", month: "mes",
	},
	german: {
		in: "in", before: "vor", days: "tag|tage|tagen", weeks: "woche|wochen",
		ends: "ende", fillers: "des der dieses von monats", month: "monats|monat",
	},
	italian: {
		in: "tra; fra", ago: "fa", days: "giorno|giorni", weeks: "settimana|settimane",
		ends: "fine", fillers: "di del della questo il mese", month: "mese",
	},
	portuguese: {
		in: "em; daqui a; dentro de", before: "ha; faz", ago: "atras", days: "dia|dias", weeks: "semana|semanas",
		ends: "fim|final|finais", fillers: "de do deste o mes", month: "mes",
	},
	dutch: {
		in: "over", ago: "geleden", days: "dag|dagen", weeks: "week|weken",
		ends: "eind|einde", fillers: "van de deze maand", month: "maand",
	},
}

// spanPhrases are the lists of spanWords, taken apart.
type spanPhrases struct {
	in, from, before, ago, days, weeks, ends, month [][]string
	fillers                                         map[string]bool
}

var spanTable = func() (all [languages]spanPhrases) {
	for l, s := range spans {
		all[l] = spanPhrases{
			spelled(s.in), spelled(s.from), spelled(s.before), spelled(s.ago), spelled(s.days), spelled(s.weeks), spelled(s.ends), spelled(s.month),
			set(s.fillers),
		}
	}
	return all
}()

func spelled(list string) (all [][]string) {
	for _, phrase := range phrases(list) {
		all = append(all, spellings(phrase)...)
	}
	return all
}

func set(list string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}

// firstOf returns how many tokens the first of some phrases takes that tokens begin with; 0 for none.
func firstOf(toks []token, phrases [][]string) int {
	for _, words := range phrases {
		if beginsWith(toks, words) {
			return len(words)
		}
	}
	return 0
}

// Words that say what a number, or a day of the week, is, in all languages.
var (
	// ofMonth stand between a day and its month, and a month and its year.
	ofMonth = set("of de d di do del dell van von des du")
	// suffixes stand behind a number that counts.
	suffixes = set("st nd rd th er re e de ste te ten º ª o a")
	// strongSuffixes make a day of a number by themselves.
	strongSuffixes = set("st nd rd th")
	// counted are things that are counted and are no days.
	counted = set(`floor time times party person people quarter half place office team one attempt week weeks month months year years generation edition version party shop store
		option question point part round step phase class grade level reason choice century hour avenue ave street st road
		etage fois trimestre semaine mois annee place equipe partie version question point arrondissement
		piso vez veces planta trimestre semana mes ano puesto parte pregunta punto opcion fase
		stock etage mal quartal woche monat jahr platz versuch teil frage punkt
		piano volta trimestre settimana mese anno posto parte domanda punto
		andar vez vezes pergunta ponto opcao
		verdieping keer kwartaal week maand jaar plaats deel vraag punt`)
	// dayArticles stand before a day of the month in figures alone.
	dayArticles = set("le el il dia")
	// germanArticles do so in German, where the figures end with a full stop.
	germanArticles = set("am den der dem zum vom bis")
	// dutchArticles do so in Dutch, where a suffix follows.
	dutchArticles = set("de")
	// datePlaces may stand before a date in figures such as 12.3
	datePlaces = set("am den der zum vom bis ab le el il al dal op on the em dia no por para per since before after until by from du au del")
	// hours stand behind figures that are a time.
	hours = set("h hs hrs am pm uhr heures heure uur ore horas hours clock o")
	// links stand between two days.
	links = set("or ou oder o of and et y und e en to bis tot au al ao ate u")
	// once make a day of the week one that was.
	once = set("last letzten letzter letzte letztem vorigen voriger vergangenen vergangener pasado scorso scorsa afgelopen vorige laatste passado passada ultima ultimo")
	// onceBehind do so behind it.
	onceBehind = set("dernier derniere pasado pasada scorso scorsa passado passada passe geleden")
	// always make a day of the week one of many.
	always = set(`every each all chaque jeden jede jeder cada todos todas toda todo ogni elke iedere los les
		first second third fourth fifth premier deuxieme troisieme primer primero segundo tercer ersten zweiten dritten vierten primo secondo terzo
		primeira primeiro terceira eerste tweede derde vierde`)
	// morning stand before a morgen or mañana that is no day.
	morning = set("am guten jeden diesen heute goede la esta las cada montag dienstag mittwoch donnerstag freitag samstag sonntag maandag dinsdag woensdag donderdag vrijdag zaterdag zondag")
	// shortBefore stand before a Portuguese day of the week in short.
	shortBefore = set("na nesta esta proxima ate para pra ou e desta de entre")
	// pronouns make a verb of the month of May.
	pronouns = set("i we you they he she it that which who")
)
