package value

import (
	"slices"
	"strings"
)

// meaning is what a phrase says of a day.
type meaning struct {
	kind kind
	// n is a number of days from today, the day of the week, or a number of weeks, months or years from this one.
	n int
}

// kind says what an item of a message is.
type kind int

const (
	dayKind      kind = iota // a day; as a meaning, n days from today
	weekdayKind              // a day of the week
	monthDayKind             // a day of a month that is not said
	weekKind                 // n weeks from this one
	weekendKind              // the weekend of that week
	comingKind               // the weekend that comes
	monthKind                // n months from this one
	monthEndKind             // the end of a month
	anyKind                  // whichever day
	yearKind                 // n years from this one
	pastKind                 // a day that has been
	absentKind               // a day that there is not
)

// sayings are the phrases of the seven languages, by what they mean. Words are written as fold returns them and parted where tokens parts them.
var sayings = []struct {
	meaning
	list string
}{
	{meaning{dayKind, 0}, `today; tonight; aujourd hui; ce soir; hoy; esta noche; heute; oggi; stasera; hoje; vandaag; vanavond`},
	{meaning{dayKind, 1}, `tomorrow; demain; manana; morgen; domani; amanha`},
	{meaning{dayKind, 2}, `the day after tomorrow; day after tomorrow; the day after; apres demain; pasado manana; ubermorgen; uebermorgen; dopodomani; dopo domani
		depois de amanha; overmorgen`},
	{meaning{pastKind, 0}, `yesterday; the day before yesterday; hier; avant hier; ayer; anteayer; antes de ayer; gestern; vorgestern; ieri; l altro ieri; altro ieri
		ontem; anteontem; gisteren; eergisteren
		last week|weekend|month|year|night; semaine|weekend|mois|annee derniere|dernier|passee|passe; week end dernier|passe; l an dernier
		la semana pasada; semana|mes|ano pasada|pasado; fin de semana pasado
		letzte|letzter|letzten|letztes|vorige|vorigen|voriges|vergangene|vergangenen|vergangenes woche|monat|monats|jahr|jahres|wochenende
		settimana|mese|anno|weekend scorsa|scorso|passata|passato; scorsa|scorso settimana|mese|anno|weekend
		semana|mes|ano passada|passado; fim de semana passado; vorige|afgelopen week|maand|jaar|weekend`},
	{meaning{weekKind, 0}, `this|current week; later this week; cette semaine; esta semana; diese|dieser woche; questa settimana; esta|nesta|desta semana; deze week`},
	{meaning{weekKind, 1}, `next|coming|following week; semaine prochaine; prochaine semaine; semaine qui vient; proxima semana; semana proxima; semana que viene|vem
		nachste|nachster|nachsten|naechste|naechster|kommende|kommender|kommenden woche; prossima settimana; settimana prossima; settimana che viene
		volgende|komende|aankomende week`},
	{meaning{weekendKind, 0}, `this weekend; this week end; ce weekend; ce week end; este fin de semana; dieses|diesem wochenende; questo weekend; questo week end
		questo fine settimana; este|neste|deste fim|final de semana; dit weekend`},
	{meaning{weekendKind, 1}, `next|following weekend; next|following week end; weekend prochain; week end prochain; prochain weekend; prochain week end
		proximo fin de semana; fin de semana proximo; nachstes|nachsten|naechstes wochenende; prossimo weekend; prossimo week end; prossimo fine settimana
		weekend prossimo; week end prossimo; fine settimana prossimo; proximo fim|final de semana; fim|final de semana proximo; volgend weekend`},
	{meaning{comingKind, 0}, `coming weekend; kommendes|kommenden wochenende; am wochenende; komend|aankomend weekend; fin de semana que viene
		fim|final de semana que vem; weekend che viene; fine settimana che viene; weekend qui vient; week end qui vient`},
	{meaning{monthKind, 0}, `this|current month; ce mois; ce mois ci; este mes; diesen|dieser|diesem|dieses monat|monats; questo mese; este|neste|deste mes; deze maand`},
	{meaning{monthKind, 1}, `next|coming|following month; mois prochain; prochain mois; mois qui vient; proximo mes; mes proximo; mes que viene|vem
		nachster|nachsten|nachstes|naechster|naechsten|kommender|kommenden monat|monats; prossimo mese; mese prossimo; mese che viene; volgende|komende|aankomende maand`},
	{meaning{yearKind, 0}, `this year; cette annee; este ano; dieses|diesem jahr|jahres; quest anno; dit jaar`},
	{meaning{yearKind, 1}, `next|following year; annee prochaine; an prochain; proximo ano; ano proximo; ano que viene|vem
		nachstes|nachsten|naechstes|kommendes|kommenden jahr|jahres; prossimo anno; anno prossimo; anno che viene; volgend|komend jaar`},
	{meaning{monthEndKind, 0}, `monatsende; month end`},
	{meaning{anyKind, 0}, `any day|date|time|moment; anyday; anytime; whenever; as soon as possible; as soon as you can; asap; a s a p; at your earliest convenience
		the sooner the better; i don t mind; i do not mind; no preference; it doesn t matter; all days
		n importe quel jour|date; n importe quelle date; n importe quand; des que possible; le plus tot possible; plus tot possible; au plus tot; au plus vite
		le plus vite possible; le plus rapidement possible; peu importe; quand vous voulez|pouvez; quand tu veux|peux; des que vous pouvez; tous les jours
		cualquier dia|fecha|momento; cuando sea; cuando quieras|quiera|quieran|puedas|pueda|puedan; lo antes posible; lo mas pronto posible; cuanto antes; me da igual; no importa
		egal wann; irgendwann; jederzeit; irgendein|irgendeinen tag; jeder|jeden tag; beliebiger|beliebigen tag; an einem beliebigen tag; wann sie wollen|mochten; wann immer
		so bald|schnell|fruh|rasch wie moglich; sobald wie moglich; moglichst bald|schnell|rasch; schnellstmoglich; baldmoglichst; so bald|schnell wie moeglich; so schnell es geht
		qualsiasi|qualunque giorno|data|momento; un giorno qualsiasi|qualunque; giorno qualsiasi; quando vuoi|volete|vuole|potete|puoi; il prima possibile; prima possibile
		appena possibile; al piu presto; quanto prima; il piu presto possibile
		qualquer dia|data|momento|hora; quando quiser|quiserem|puder|puderem; o mais rapido|cedo|breve possivel; mais rapido|cedo|breve possivel; quanto antes
		assim que possivel|puder|puderem; tanto faz; o quanto antes
		zo snel|spoedig|gauw|vlug|vroeg mogelijk; elke|iedere|willekeurige dag; eender welke dag; welke dag dan ook; wanneer u|je|jij|jullie wilt|wil|willen; wanneer dan ook
		maakt niet uit; maakt me|mij niet uit; om het even; geen voorkeur; z s m; zsm`},
}

// weekdays are the days of the week from Sunday on.
var weekdays = []string{
	"sunday; dimanche; domingo; sonntag; domenica; zondag",
	"monday; lundi; lunes; montag; lunedi; segunda feira; maandag",
	"tuesday|tue|tues; mardi; martes; dienstag; martedi; terca feira; dinsdag",
	"wednesday|wed; mercredi; miercoles; mittwoch; mercoledi; quarta feira; woensdag",
	"thursday|thu|thur|thurs; jeudi; jueves; donnerstag; giovedi; quinta feira; donderdag",
	"friday|fri; vendredi; viernes; freitag; venerdi; sexta feira; vrijdag",
	"saturday; samedi; sabado; samstag|sonnabend; sabato; zaterdag",
}

// partsOfDay are what German and Dutch put behind a day of the week.
var partsOfDay = strings.Fields("morgen fruh vormittag mittag nachmittag abend nacht ochtend voormiddag middag namiddag avond")

// shortDays are what Portuguese says of its days of the week in short. They are ordinals, too: isShortDay tells them apart.
var shortDays = map[string]int{"segunda": 1, "terca": 2, "quarta": 3, "quinta": 4, "sexta": 5}

// dashedDays are short days of the week that are other words, too. They count where a dash ties them to another day: Mon-Wed. Without them such a span would
// be its last day.
var dashedDays = map[string]int{"sun": 0, "mon": 1, "sat": 6}

// saying is a phrase and what it means.
type saying struct {
	words []string
	meaning
}

// sayingsBy holds the sayings by their first word, the longest first.
var sayingsBy = func() map[string][]saying {
	all := map[string][]saying{}
	add := func(list string, m meaning) {
		for _, phrase := range phrases(list) {
			for _, words := range spellings(phrase) {
				all[words[0]] = insert(all[words[0]], saying{words, m})
			}
		}
	}
	for _, s := range sayings {
		add(s.list, s.meaning)
	}
	for day, list := range weekdays {
		add(list, meaning{weekdayKind, day})
		for _, words := range phrases(list) {
			if last := words[0][0]; strings.HasSuffix(last, "tag") || strings.HasSuffix(last, "dag") || last == "mittwoch" {
				add(last+strings.Join(partsOfDay, "|"+last), meaning{weekdayKind, day})
			}
		}
	}
	return all
}()

// spellings returns a phrase with each choice of its words.
func spellings(phrase [][]string) [][]string {
	all := [][]string{nil}
	for _, choices := range phrase {
		var next [][]string
		for _, before := range all {
			for _, c := range choices {
				next = append(next, append(slices.Clip(before), c))
			}
		}
		all = next
	}
	return all
}

// insert keeps sayings in the order of their lengths.
func insert(list []saying, s saying) []saying {
	i := 0
	for i < len(list) && len(list[i].words) >= len(s.words) {
		i++
	}
	list = append(list, s)
	copy(list[i+1:], list[i:])
	list[i] = s
	return list
}

// sayingAt returns the longest saying that begins at a token.
func sayingAt(toks []token) (saying, bool) {
	for _, s := range sayingsBy[toks[0].text] {
		if beginsWith(toks, s.words) {
			return s, true
		}
	}
	return saying{}, false
}

// beginsWith reports whether tokens begin with words.
func beginsWith(toks []token, words []string) bool {
	if len(toks) < len(words) {
		return false
	}
	for i, w := range words {
		if toks[i].kind != word || toks[i].text != w {
			return false
		}
	}
	return true
}
