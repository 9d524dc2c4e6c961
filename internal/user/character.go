package user

import (
	"regexp"
	"strings"
	"sync"
)

// Parts of the patterns. A text is matched as plain returns it.
const (
	// before is what may stand in front of a claim, behind what may follow it in languages with spaces: not a word that makes another thing of it,
	// as in "assistant manager".
	before = `(?:^|[^\p{L}\p{N}'])`
	behind = `(?:$|[^\p{L}\p{N}'\- ]| [^\p{L}\p{N}]| (?:and|but|so|here|that|who|which|designed|created|trained|built|made|developed|programmed|helping|without|with|not|by|from|i|` +
		`und|aber|der|die|das|ohne|von|ich|et|mais|qui|sans|je|y|pero|que|sin|yo|e|ma|che|senza|io|mas|sem|eu|en|maar|zonder|ik|i|ale|bez|и|но|без|я|ve|ama)(?:$|[^\p{L}]))`
)

// claims says in which words a speaker claims to be a model. The group of each pattern is what it claims to be. Each language has its own.
var claims = []string{
	// English
	before + `(?:i am|i'm|im)(?:,? (?:just|only|merely|actually|really|simply|in fact|sorry|afraid))*,? (?:an? |the |your |one )?` +
		`(?:(?:ai|virtual|digital|helpful|automated|artificial|computer|online|personal|text|customer|support|ai-powered|ai-based)[ -])*` +
		`(ai|a\.i\.|artificial intelligence|(?:large )?language model|llm|assistant|chat ?bot|bot|ai (?:language )?model|ai system|computer program|chatgpt|gpt[\d.-]*|simulated (?:user|customer|client|person|human)|simulation)` + behind,
	before + `as an? (?:(?:ai|virtual|large|digital)[ -])*(ai|a\.i\.|artificial intelligence|language model|assistant|chatbot|model|simulated (?:user|customer))` +
		`(?: (?:developed|created|trained|made|built|designed) by [^,.!?]{1,40})?,? (?:i|my)(?:$|[^\p{L}])`,
	before + `(?:i am|i'm|im) (?:just |only )?(role-?playing|simulating|pretending to be|playing(?: the (?:role|part) of)?|acting as) (?:an? |the |your )?(?:\p{L}+ )?(?:user|customer|client|persona|human)` + behind,
	before + `my (?:role|job|task|purpose) (?:here )?is to (simulate|play|act as) (?:an? |the )?(?:\p{L}+ )?(?:user|customer|client|persona|human)` + behind,
	// German, Dutch, Scandinavian
	before + `ich bin (?:(?:nur|bloss|ja|doch|leider|lediglich) )*(?:(?:eine?|einer|der|die|das|deine?|ihre?) )?(?:(?:virtuelle[rs]?|digitale[rs]?|grosses|künstliche[rs]?) )*` +
		`(ki|künstliche intelligenz|intelligenz|(?:ki-)?sprachmodell|ki-modell|(?:ki-)?assistent(?:in)?|(?:ki-)?chatbot|bot|simulierter? (?:nutzer|benutzer|kunde|person)(?:in)?)` + behind,
	before + `als (ki|ki-modell|(?:ki-)?sprachmodell|ki-assistent(?:in)?|künstliche intelligenz|chatbot),? (?:kann|bin|habe|darf|weiss|möchte) ich` + behind,
	before + `ik ben (?:(?:slechts|maar|alleen|gewoon) )*(?:(?:een|de|je|uw) )?(?:virtuele )?(ai|kunstmatige intelligentie|taalmodel|(?:ai-)?assistente?|chatbot|bot|gesimuleerde (?:gebruiker|klant))` + behind,
	before + `(?:jag är|jeg er) (?:(?:bara|kun|bare) )*(?:(?:en|ett|et) )?(ai|språkmodell|sprogmodel|språkmodell|(?:ai-)?assistent|chatbot|robot)` + behind,
	// French, Spanish, Italian, Portuguese
	before + `je (?:ne )?suis (?:(?:juste|seulement|simplement|qu') ?)*(?:une? |l'|votre |ton )?(ia|intelligence artificielle|modèle de langage|assistante?(?: virtuel(?:le)?| ia)?|chatbot|robot|(?:utilisateur|client) simulé)` + behind,
	before + `en tant qu(?:e |')(?:une? )?(ia|intelligence artificielle|modèle de langage|assistante?(?: virtuel(?:le)?)?|chatbot),? je` + behind,
	before + `soy (?:(?:solo|sólo|solamente|simplemente) )*(?:(?:una?|el|la|tu|su) )?(ia|inteligencia artificial|modelo de lenguaje|asistente(?: virtual| de ia)?|chatbot|bot|(?:usuario|cliente) simulado)` + behind,
	before + `como (?:una? )?(ia|inteligencia artificial|modelo de lenguaje|asistente virtual),? (?:yo|no puedo|no tengo)` + behind,
	before + `sono (?:(?:solo|soltanto) )*(?:un'|(?:una?|il tuo|il suo) )?(ia|intelligenza artificiale|modello linguistico|assistente(?: virtuale)?|chatbot|bot|(?:utente|cliente) simulato)` + behind,
	before + `sou (?:(?:apenas|só) )*(?:(?:uma?|o seu|a sua) )?(ia|inteligência artificial|modelo de linguagem|assistente(?: virtual)?|chatbot|bot|robô|(?:usuário|utilizador|cliente) simulado)` + behind,
	before + `como (?:uma? )?(ia|inteligência artificial|modelo de linguagem),? (?:eu|não posso)` + behind,
	// Polish, Russian, Turkish
	before + `jestem (?:(?:tylko|jedynie) )*(ai|sztuczną inteligencją|modelem językowym|asystent(?:em|ką)|chatbotem|botem|symulowanym (?:użytkownikiem|klientem))` + behind,
	before + `я,? ?(?:(?:всего лишь|просто|это|—|-|–) ?)*(ии|искусственный интеллект|(?:большая )?языковая модель|(?:виртуальный )?(?:ассистент|помощник)|чат-?бот|бот|нейросеть)` + behind,
	before + `ben (?:(?:sadece|bir) )*(yapay zek[aâ]|dil modeli|asistan|chatbot|sohbet botu)(?:y?[ıi]m)?` + behind,
	// Chinese, Japanese, Korean
	`(?:我是|我只是|我就是|本人是)(?:一个|一個|一名|一款|一位|个|您的|你的)?(?:大型|虚拟|虛擬|智能|人工)*((?:ai|人工智能|人工智慧|语言|語言|大语言)+(?:助手|助理|模型|机器人|機器人|程序)?|助手|机器人|機器人|聊天机器人|聊天機器人|模拟用户|模擬用戶|语言模型|語言模型)(?:$|[^\p{L}]|我|无法|不能|所以|没有)`,
	`(?:作为|作為)(?:一个|一個|一名|一款)?((?:ai|人工智能|人工智慧)(?:助手|助理|模型|语言模型)?|语言模型|語言模型|助手|机器人),? ?我`,
	`(?:私|わたし|僕|俺|こちら)は[^、。!?]{0,10}?(ai|人工知能|言語モデル|アシスタント|チャットボット|シミュレートされたユーザー)(?:です|だ|であり|でして|なので|ですので)`,
	`(ai|人工知能|言語モデル|アシスタント)(?:なので|ですので|として[、,]? ?(?:私|わたし))`,
	before + `(?:저는|나는|전|난) (?:[^ .,!?]+ ){0,2}?(ai|인공지능|언어 ?모델|(?:ai )?어시스턴트|챗봇)(?:입니다|이에요|예요|이야|야|로서|이며|이라서|라서|이기)`,
	// Arabic, Hebrew, Hindi
	before + `[اأ]نا (?:مجرد )?(ذكاء اصطناعي|نموذج لغوي|مساعد(?: افتراضي| ذكي)?|روبوت)(?:$|[^\p{L}])`,
	before + `אני (?:רק )?(בינה מלאכותית|מודל שפה|עוזר(?:ת)? וירטואלי(?:ת)?|צ'אטבוט|בוט)(?:$|[^\p{L}])`,
	before + `मैं (?:(?:एक|केवल|सिर्फ) )*(ai|एआई|कृत्रिम बुद्धिमत्ता|भाषा मॉडल|सहायक|चैटबॉट)(?: (?:मॉडल|सहायक))? (?:हूँ|हूं|हू)`,
}

var claimPatterns = sync.OnceValue(func() []*regexp.Regexp {
	patterns := make([]*regexp.Regexp, len(claims))
	for i, c := range claims {
		patterns[i] = regexp.MustCompile(c)
	}
	return patterns
})

// brokenCharacter returns the words with which a message claims to come from a model; nothing when it does not. What the persona itself is called is
// no such claim: an assistant to a manager may say so.
func brokenCharacter(said string, persona []word) string {
	said = plain(said)
	for _, p := range claimPatterns() {
		for _, m := range p.FindAllStringSubmatch(said, 20) {
			if !contains(persona, words(m[1], false)) {
				return strings.Trim(m[0], " .,;:!?")
			}
		}
	}
	return ""
}
