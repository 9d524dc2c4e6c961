package value

import "maps"

import "strings"

// language is one of those that are understood.
type language int

const (
	english language = iota
	french
	spanish
	german
	italian
	portuguese
	dutch
	languages // how many there are
)

// basics are the words for 0 to 20 of each language, as fold returns them; those above are put together from them.
var basics = [languages][]string{
	english: strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
		eighteen nineteen twenty`),
	french:  strings.Split("zero,un,deux,trois,quatre,cinq,six,sept,huit,neuf,dix,onze,douze,treize,quatorze,quinze,seize,dix sept,dix huit,dix neuf,vingt", ","),
	spanish: strings.Fields(`cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve veinte`),
	german: strings.Fields(`null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn
		achtzehn neunzehn zwanzig`),
	italian: strings.Fields(`zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici
		diciassette diciotto diciannove venti`),
	portuguese: strings.Fields(`zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete
		dezoito dezenove vinte`),
	dutch: strings.Fields(`nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien
		achttien negentien twintig`),
}

// tens are the words for 20, 30 and so on, as far as they are put together like the others.
var tens = [languages][]string{
	english:    strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety"),
	french:     strings.Fields("vingt trente quarante cinquante soixante"),
	spanish:    strings.Fields("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa"),
	german:     strings.Fields("zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig"),
	italian:    strings.Fields("venti trenta quaranta cinquanta sessanta settanta ottanta novanta"),
	portuguese: strings.Fields("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa"),
	dutch:      strings.Fields("twintig dertig veertig vijftig zestig zeventig tachtig negentig"),
}

// others are further ways to say a number: other forms, and the articles that mean one.
var others = [languages]map[string]int{
	english:    {"a": 1, "an": 1},
	french:     {"une": 1, "soixante dix": 70, "quatre vingts": 80, "quatre vingt": 80, "quatre vingt dix": 90},
	spanish:    {"un": 1, "una": 1, "veintiun": 21},
	german:     {"ein": 1, "eine": 1, "einer": 1, "einem": 1, "einen": 1, "zwo": 2, "fuenf": 5, "zwoelf": 12, "fuenfzehn": 15},
	italian:    {"un": 1, "una": 1},
	portuguese: {"uma": 1, "duas": 2, "catorze": 14, "dezasseis": 16, "dezassete": 17, "dezanove": 19},
}

// numberWords tells the number of each word, or words, of a language, up to 99.
var numberWords = func() (all [languages]map[string]int) {
	for l := range languages {
		all[l] = map[string]int{}
		for n, w := range basics[l] {
			all[l][w] = n
		}
		for t, ten := range tens[l] {
			for unit := range 10 {
				all[l][compound(l, ten, unit)] = (t+2)*10 + unit
			}
		}
		maps.Copy(all[l], others[l])
	}
	return all
}()

// compound puts a ten and a unit together.
func compound(l language, ten string, unit int) string {
	if unit == 0 {
		return ten
	}
	one := basics[l][unit]
	switch l {
	case english:
		return ten + " " + one
	case french:
		if unit == 1 {
			return ten + " et un"
		}
		return ten + " " + one
	case spanish:
		if ten == "veinte" {
			return "veinti" + one
		}
		return ten + " y " + one
	case german:
		if unit == 1 {
			one = "ein"
		}
		return one + "und" + ten
	case italian:
		if unit == 1 || unit == 8 {
			ten = ten[:len(ten)-1]
		}
		return ten + one
	case portuguese:
		return ten + " e " + one
	}
	return one + "en" + ten // Dutch; the marks of "tweeëntwintig" are gone
}

// ordinals tells the day of a month that an ordinal is, by language.
var ordinals = func() (all [languages]map[string]int) {
	for l := range languages {
		all[l] = map[string]int{}
	}
	for i, w := range strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth") {
		all[english][w] = i + 1
		if i < 9 {
			all[english]["twenty "+w] = 20 + i + 1
		}
	}
	all[english]["thirtieth"], all[english]["thirty first"] = 30, 31
	for n := 1; n <= 31; n++ {
		for _, end := range []string{"", "n", "r"} {
			all[german][germanOrdinal(n)+end] = n
		}
		all[dutch][dutchOrdinal(n)] = n
	}
	all[french]["premier"], all[spanish]["primero"], all[spanish]["primer"] = 1, 1, 1
	all[italian]["primo"], all[portuguese]["primeiro"] = 1, 1
	return all
}()

func germanOrdinal(n int) string {
	switch n {
	case 1:
		return "erste"
	case 3:
		return "dritte"
	case 7:
		return "siebte"
	case 8:
		return "achte"
	}
	if n < 20 {
		return basics[german][n] + "te"
	}
	return compound(german, tens[german][n/10-2], n%10) + "ste"
}

func dutchOrdinal(n int) string {
	switch n {
	case 1:
		return "eerste"
	case 3:
		return "derde"
	case 8:
		return "achtste"
	}
	if n < 20 {
		return basics[dutch][n] + "de"
	}
	return compound(dutch, tens[dutch][n/10-2], n%10) + "ste"
}

// maxNumberWords is how many words a number has at most.
const maxNumberWords = 3

// numberAt returns the number that stands at a token in words of a language, and how many tokens it has.
func numberAt(toks []token, words map[string]int) (n, length int) {
	var text strings.Builder
	for i := 0; i < maxNumberWords && i < len(toks) && toks[i].kind == word; i++ {
		if i > 0 {
			text.WriteString(" ")
		}
		text.WriteString(toks[i].text)
		if found, ok := words[text.String()]; ok {
			n, length = found, i+1
		}
	}
	return n, length
}
