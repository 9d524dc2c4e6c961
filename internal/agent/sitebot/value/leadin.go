package value

// leadIns are words that stand around an address, a day or a number and say nothing themselves, in all languages.
var leadIns = set(`my our mine the a an is it its s are at on for to by in of or and you can me us i am would will be could please thanks thank hi hello yes ok okay so also use write
	email e mail mails address phone number mobile cell tel telephone call reach text whatsapp date day fine good best contact here instead sorry then works suits ideally
	mon ma mes notre le la les l un une est c sont ou et vous pouvez m nous je suis s il te plait merci bonjour oui adresse courriel mel numero telephone portable appelez ecrivez
	joindre jour date au aux a de d du
	mi mis nuestro el es son y o puede me soy por favor gracias hola si correo direccion numero telefono movil llamame llame escribame fecha dia en para
	mein meine unser unsere der die das ist sind und oder sie konnen mich uns ich bin bitte danke hallo ja adresse nummer telefon handy rufen schreiben datum tag unter am um
	mio mia nostro il lo e sono o puo potete mi ci grazie ciao si indirizzo numero telefono cellulare chiamami scrivimi data giorno a di
	meu minha nosso o e sao ou pode me nos sou obrigado obrigada ola sim endereco numero telefone celular ligue escreva data dia em no na
	mijn onze de het is zijn en of u je kan kunt mij ons ik ben alstublieft alsjeblieft bedankt dank hallo ja adres nummer telefoon mobiel bel schrijf datum dag op naar`)

// HasMore reports whether what is left around values says something else than that they follow.
func HasMore(text string) bool {
	for _, t := range tokens([]byte(text)) {
		if t.kind == number || t.kind == word && !leadIns[t.text] {
			return true
		}
	}
	return false
}
