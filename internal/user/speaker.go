package user

import (
	"strings"
	"sync"
	"unicode"
)

// speakers are the labels before a speaker's words, as plain returns them.
const speakers = `agent, ai, ai agent, ai assistant, assistant, virtual assistant, support assistant, bot, chatbot, chat bot, robot, support, support agent,
customer support, customer service, customer service agent, service agent, human agent, operator, representative, rep, advisor, adviser, consultant,
user, simulated user, customer, simulated customer, client, caller, visitor, human, me, you,
agentin, ki, ki assistent, assistent, assistentin, berater, beraterin, kundenservice, kundendienst, mitarbeiter, mitarbeiterin, nutzer, nutzerin, benutzer, benutzerin,
kunde, kundin, anrufer, anruferin, mensch, ich,
ia, agente, assistante, conseiller, conseillère, utilisateur, utilisatrice, cliente, moi,
asistente, asistente virtual, usuario, usuaria, operador, operadora, asesor, asesora, yo,
assistente, utente, operatore, operatrice, consulente, io, usuário, usuária, utilizador, utilizadora, atendente, eu,
klant, gebruiker, medewerker, ik, användare, kund, handläggare, bruger, kunde, bruker, asiakas, käyttäjä, avustaja,
klient, klientka, użytkownik, użytkowniczka, asystent, asystentka, konsultant, konsultantka, uživatel, zákazník, zákaznice, asistent, asistentka, ügyfél, felhasználó, asszisztens,
client virtual, utilizator, asistentă, пользователь, клиент, клиентка, покупатель, агент, ассистент, помощник, оператор, бот, чат-бот, консультант, менеджер,
користувач, клієнт, асистент, помічник, χρήστης, πελάτης, βοηθός, πράκτορας, müşteri, kullanıcı, asistan, temsilci, yapay zeka,
用户, 使用者, 客户, 顾客, 顧客, 客戶, 用戶, 助手, 助理, 客服, 机器人, 機器人, 人工智能,
ユーザー, ユーザ, 利用者, お客様, お客さま, 客, アシスタント, エージェント, ボット, チャットボット, オペレーター, 担当者,
사용자, 고객, 손님, 상담원, 상담사, 어시스턴트, 에이전트, 봇, 챗봇,
المستخدم, مستخدم, العميل, عميل, الزبون, المساعد, مساعد, الوكيل, وكيل, البوت, الروبوت, משתמש, המשתמש, לקוח, הלקוח, סוכן, נציג, עוזר, בוט,
उपयोगकर्ता, ग्राहक, सहायक, एजेंट, बॉट, ผู้ใช้, ลูกค้า, ผู้ช่วย, เจ้าหน้าที่, บอท, người dùng, khách hàng, trợ lý, nhân viên, tác nhân,
pengguna, pelanggan, asisten, agen, petugas, کاربر, مشتری, دستیار, عامل`

var speakerLabels = sync.OnceValue(func() map[string]bool {
	labels := map[string]bool{}
	for label := range strings.SplitSeq(speakers, ",") {
		labels[labelKey(label)] = true
	}
	return labels
})

// maxLabel is the longest beginning of a line in which a label is looked for, in bytes.
const maxLabel = 120

// speaker returns the label of a speaker with which a line of the message begins; nothing when no line has one.
func speaker(said string) string {
	lines := strings.FieldsFunc(said, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f'
	})
	for _, line := range lines {
		if len(line) > maxLabel {
			line = strings.ToValidUTF8(line[:maxLabel], "")
		}
		before, _, ok := strings.Cut(plain(line), ":")
		if ok && speakerLabels()[labelKey(before)] {
			return strings.TrimSpace(before) + ":"
		}
	}
	return ""
}

// labelKey returns the words of a label, without what is around it in a transcript: marks, brackets, a number, a name in parentheses.
func labelKey(label string) string {
	label = plain(label)
	label = label[max(0, strings.IndexFunc(label, unicode.IsLetter)):]
	if aside := strings.IndexAny(label, "(["); aside > 0 {
		label = label[:aside]
	}
	fields := strings.FieldsFunc(label, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	return strings.Join(fields, " ")
}
