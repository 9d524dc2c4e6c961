package trace

// The roles that models play.
const (
	Target = "target"
	Judge  = "judge"
	User   = "user"
)

// Names of spans. Those of models and tools have the name of the model or tool behind them.
const (
	Run          = "rehearse.run"
	Conversation = "rehearse.conversation"
	// Regrade is a conversation that was held before and is graded again.
	Regrade = "rehearse.regrade"
	Turn    = "rehearse.turn"
	// UserTurn is a turn that the simulated user did not take: it was asked and said nothing.
	UserTurn    = "rehearse.user"
	Send        = "rehearse.send"
	Grade       = "rehearse.grade"
	ChatTurn    = "rehearse.chat_turn"
	Chat        = "chat"
	ExecuteTool = "execute_tool"
)

// Evaluation is the event of one assertion (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/).
const Evaluation = "gen_ai.evaluation.result"

// Attributes of this program.
const (
	TestCaseID     = "test_case_id"
	ConversationID = "conversation_id"
	RunID          = "rehearse.run_id"
	Tests          = "rehearse.tests"
	Suite          = "rehearse.suite"
	TargetName     = "rehearse.target"
	Trial          = "rehearse.trial"
	Attempt        = "rehearse.attempt"
	Verdict        = "rehearse.verdict"
	TurnNumber     = "rehearse.turn"
	Role           = "rehearse.role"
	TargetKind     = "rehearse.target_kind"
	Grader         = "rehearse.grader"
	Site           = "rehearse.site"
	Route          = "rehearse.route"
	Action         = "rehearse.action"
	Intent         = "rehearse.intent"
	NodeStatus     = "rehearse.status"
	// Input and Output are what the visitor of a chatbot wrote and read.
	Input  = "rehearse.input"
	Output = "rehearse.output"
)

// Attributes of OpenTelemetry (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/).
const (
	SessionID         = "session.id"
	UserID            = "user.id"
	ServerAddress     = "server.address"
	ErrorType         = "error.type"
	GenAIConversation = "gen_ai.conversation.id"
	Operation         = "gen_ai.operation.name"
	Provider          = "gen_ai.provider.name"
	RequestModel      = "gen_ai.request.model"
	ResponseModel     = "gen_ai.response.model"
	InputTokens       = "gen_ai.usage.input_tokens"
	OutputTokens      = "gen_ai.usage.output_tokens"
	InputMessages     = "gen_ai.input.messages"
	OutputMessages    = "gen_ai.output.messages"
	ToolName          = "gen_ai.tool.name"
	ToolArguments     = "gen_ai.tool.call.arguments"
	ToolResult        = "gen_ai.tool.call.result"
	EvaluationName    = "gen_ai.evaluation.name"
	EvaluationScore   = "gen_ai.evaluation.score.value"
	EvaluationLabel   = "gen_ai.evaluation.score.label"
	EvaluationReason  = "gen_ai.evaluation.explanation"
)

// ProviderName returns what OpenTelemetry calls a provider.
func ProviderName(provider string) string {
	switch provider {
	case "azure":
		return "azure.ai.openai"
	case "google":
		return "gcp.gemini"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	}
	return provider
}
