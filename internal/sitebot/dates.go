package sitebot

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// maxDateWords bounds how much a visitor may write around a date.
const maxDateWords = 12

// numericDate is a date in figures, such as 2026-03-12, 12.3., 12/3/26 or the 3rd.
var numericDate = regexp.MustCompile(`(?i)\b(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}([./]|\b)|\d{1,2}(st|nd|rd|th|er)\b)`)

// dayWords name a day by themselves, in the seven languages of sitebot.md 2.8.
var dayWords = strings.Fields(`
	today tonight tomorrow monday tuesday wednesday thursday friday saturday sunday
	aujourd'hui demain après-demain lundi mardi mercredi jeudi vendredi samedi dimanche
	hoy mañana lunes martes miércoles jueves viernes sábado domingo
	heute morgen übermorgen montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
	oggi domani dopodomani lunedì martedì mercoledì giovedì venerdì sabato domenica
	hoje amanhã segunda segunda-feira terça terça-feira quarta quarta-feira quinta quinta-feira sexta sexta-feira
	vandaag overmorgen maandag dinsdag woensdag donderdag vrijdag zaterdag zondag`)

// monthWords name a day together with a figure: the 12 of "12 March".
var monthWords = strings.Fields(`
	january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec
	janvier février mars avril mai juin juillet août septembre octobre novembre décembre
	enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
	januar februar märz juni juli oktober dezember
	gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
	janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
	januari februari maart mei augustus`)

// isDate reports whether a text names a day: in figures, by a word such as "Monday at 10", or by a month with a figure.
func isDate(text string) bool {
	if len(strings.Fields(text)) > maxDateWords {
		return false
	}
	words := wordsOf(text)
	names := func(known []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(known, w) })
	}
	return numericDate.MatchString(text) || names(dayWords) || digits(text) > 0 && names(monthWords)
}

// wordsOf returns the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}
