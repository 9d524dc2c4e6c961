package grader

import "slices"

// Builtin lists every kind of grader in the order of the reference.
func Builtin() []Kind {
	return slices.Concat(textKinds(), structureKinds(), flowKinds(), budgetKinds(), modelKinds(), combinationKinds())
}

// textKinds look at the reply of a turn, or at all replies of the conversation joined by blank lines.
func textKinds() []Kind {
	return []Kind{
		{
			Name: "contains", Group: TextGroup, New: newContains(caseCounts),
			Doc: "the reply holds value, or every text of a list; case counts; 1 or 0",
		},
		{
			Name: "icontains", Group: TextGroup, New: newContains(caseIgnored),
			Doc: "the reply holds value, or every text of a list; case is ignored; 1 or 0",
		},
		{
			Name: "contains_any", Group: TextGroup, New: newContainsAny(caseCounts),
			Doc: "the reply holds at least one of the values; case counts; 1 or 0",
		},
		{
			Name: "icontains_any", Group: TextGroup, New: newContainsAny(caseIgnored),
			Doc: "the reply holds at least one of the values; case is ignored; 1 or 0",
		},
		{
			Name: "contains_all", Group: TextGroup, New: newContainsAll(caseCounts),
			Doc: "the reply holds every one of the values; case counts; 1 or 0",
		},
		{
			Name: "icontains_all", Group: TextGroup, New: newContainsAll(caseIgnored),
			Doc: "the reply holds every one of the values; case is ignored; 1 or 0",
		},
		{
			Name: "equals", Group: TextGroup, New: newEquals(caseCounts),
			Doc: "the reply is value, white space around both aside; case counts; 1 or 0",
		},
		{
			Name: "iequals", Group: TextGroup, New: newEquals(caseIgnored),
			Doc: "the reply is value, white space around both aside; case is ignored; 1 or 0",
		},
		{
			Name: "starts_with", Group: TextGroup, New: newStartsWith(caseCounts),
			Doc: "the reply starts with value, white space before both aside; case counts; 1 or 0",
		},
		{
			Name: "istarts_with", Group: TextGroup, New: newStartsWith(caseIgnored),
			Doc: "the reply starts with value, white space before both aside; case is ignored; 1 or 0",
		},
		{
			Name: "ends_with", Group: TextGroup, New: newEndsWith(caseCounts),
			Doc: "the reply ends with value, white space after both aside; case counts; 1 or 0",
		},
		{
			Name: "iends_with", Group: TextGroup, New: newEndsWith(caseIgnored),
			Doc: "the reply ends with value, white space after both aside; case is ignored; 1 or 0",
		},
		{
			Name: "regex", Group: TextGroup, New: newRegex,
			Doc: "some part of the reply matches the RE2 pattern value; case counts unless flags has i; 1 or 0",
		},
		{Name: "word_count", Group: TextGroup, New: newWordCount, Doc: "the reply has value words, or from min to " +
			"max; a word is what stands between white space, and each Chinese or Japanese character; 1 or 0"},
		{Name: "levenshtein", Group: TextGroup, New: newLevenshtein, Doc: "score = 1 − edit distance in characters / " +
			"length of the longer text, against value or expected_output; case counts; passes from 0.8"},
		{Name: "rouge", Group: TextGroup, New: newRouge, Doc: "score = ROUGE F1 over words and symbols, " +
			"against value or expected_output; case is ignored; passes from 0.5"},
		{Name: "bleu", Group: TextGroup, New: newBleu, Doc: "score = BLEU of runs of up to n words and symbols, " +
			"smoothed, against value or expected_output; case is ignored; passes from 0.3"},
		{
			Name: "similar", Group: TextGroup, Varies: true, New: newSimilar,
			Doc: "score = cosine of embeddings (or with method: lexical of counts of words and symbols, " +
				"case ignored), against value or expected_output; passes from 0.8",
		},
	}
}

// structureKinds look at the reply of a turn, or at the last reply of the conversation.
func structureKinds() []Kind {
	return []Kind{
		{
			Name: "is_json", Group: StructureGroup, New: newIsJSON,
			Doc: "the whole reply is JSON and follows the schema, if there is one; 1 or 0",
		},
		{Name: "json_path", Group: StructureGroup, New: newJSONPath, Doc: "the reply is JSON, " +
			"bare or in a code fence, and every value at path is as wanted; case counts; 1 or 0"},
		{Name: "field_accuracy", Group: StructureGroup, New: newFieldAccuracy, Doc: "the reply is JSON, bare or in a " +
			"code fence; score = weighted share of fields that agree with expected or expected_output; case counts"},
		{
			Name: "label", Group: StructureGroup, New: newLabel,
			Doc: "what the reply takes the message for is value: the label of a classifier or a chatbot's turn, " +
				"JSON with a label, or the reply is a label; case is ignored in texts; 1 or 0",
		},
		{
			Name: "expression", Group: StructureGroup, New: newExpression,
			Doc: "the expr-lang expression value over the exchange is true (1), false (0) or the score itself; " +
				"case counts, numbers compare by value, whole ones exactly at any size",
		},
	}
}

// flowKinds look at the tool calls of a turn and at the agent's state after it, or at all tool calls of the
// conversation and the last state. What an agent does not show fails.
func flowKinds() []Kind {
	return []Kind{
		{Name: "tool_call", Group: FlowGroup, New: newToolCall, Doc: "the first tool call (or any, or the last) " +
			"has this name and these args; names and texts count exactly, 1 equals 1.0; 1 or 0"},
		{
			Name: "tool_calls", Aliases: []string{"tool_trajectory"}, Group: FlowGroup, New: newToolCalls,
			Doc: "the tool calls are those of calls, in the way that match says; names and texts count exactly, " +
				"1 equals 1.0; 1 or 0",
		},
		{Name: "next_node", Group: FlowGroup, New: newNextNode, Doc: "the flow stands at node value after the reply, " +
			"null: at none because it has ended; case counts; 1 or 0"},
		{Name: "options_contains", Group: FlowGroup, New: newOptionsContains, Doc: "the node where the flow stands " +
			"offers every option of value, compared by the fields that are given; case counts; 1 or 0"},
		{
			Name: "facts", Group: FlowGroup, New: newFacts,
			Doc: "the turn added and updated these facts, or at conversation level they are live at its end; " +
				"`memory.facts` of the agent's state is compared before and after the turn, never its memory_delta; " +
				"keys count exactly, values in any case; undecided where the state has no memory.facts, " +
				"and where a fact is missing and the agent's facts stage was off or failed; 1 or 0",
		},
		{Name: "forbidden_facts", Group: FlowGroup, New: newForbiddenFacts, Doc: "no live fact has this key or " +
			"value; case is ignored; undecided where the agent's state has no memory.facts; 1 or 0"},
		{
			Name: "flow_completed", Group: FlowGroup, New: newFlowCompleted,
			Doc: "the flow has ended after the reply, or with value: false has not; 1 or 0",
		},
		{
			Name: "state", Group: FlowGroup, New: newState,
			Doc: "every value at path in the agent's state is as wanted; case counts; 1 or 0",
		},
		{
			Name: "marker", Group: FlowGroup, New: newMarker,
			Doc: "the reply holds the marker 👉, 👇 or 💌, at conversation level any reply does; 1 or 0",
		},
	}
}

// budgetKinds look at what a turn used, or at the sums over the conversation.
func budgetKinds() []Kind {
	return []Kind{
		{
			Name: "latency", Group: BudgetGroup, New: newLatency, OwnThreshold: true,
			Doc: "the reply took at most max_ms milliseconds; 1 or 0",
		},
		{Name: "cost", Group: BudgetGroup, New: newCost, Doc: "the reply cost at most max_usd; " +
			"undecided where the target reports no usage or its model has no price; 1 or 0"},
		{Name: "token_usage", Group: BudgetGroup, New: newTokenUsage, Doc: "the reply used at most max_total, " +
			"max_input and max_output tokens; undecided where the target reports no usage; 1 or 0"},
		{Name: "execution_metrics", Group: BudgetGroup, New: newExecutionMetrics, Doc: "score = share of the limits " +
			"that the turn held; undecided where the target does not report what a limit is about"},
		{
			Name: "turn_count", Group: BudgetGroup, New: newTurnCount,
			Doc: "from min to max turns were held so far; 1 or 0",
		},
	}
}

func combinationKinds() []Kind {
	return []Kind{
		{
			Name: "composite", Group: CombinationGroup, Varies: true, Outside: true, New: newComposite,
			Doc: "several assertions as one; score = their weighted mean, the share that passes (threshold), " +
				"the least (all) or the greatest (any); a required one that fails makes it 0",
		},
		{
			Name: "command", Aliases: []string{"code_grader"}, Free: "code_grader", Group: CombinationGroup,
			Outside: true,
			New:     newCommand, Doc: "a program gets the exchange as JSON on stdin and answers {score, passed?, " +
				"reasoning?, assertions?} on stdout; score = its score",
		},
		{Name: "http", Group: CombinationGroup, Outside: true, New: newHTTP,
			Doc: "a web service gets the exchange as JSON and " +
				"answers {score, passed?, reasoning?, assertions?}; score = its score"},
		{
			Name: "unsupported", Group: CombinationGroup, New: newUnsupported,
			Doc: "a check of another tool that an import could not carry over; always undecided, " +
				"so that the test is an error until you replace or remove it",
		},
	}
}
