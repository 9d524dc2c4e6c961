package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// onlySummaries turns the facts stage off.
var onlySummaries = &MemoryPipeline{Enabled: true, Stages: []Stage{SummarizeStage, ResummarizeStage}}

func spansOf(m Memory) string {
	if m.Summary == nil {
		return ""
	}
	var ids []string
	for _, c := range m.Summary.Chunks {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, " ")
}

// spanning returns a chunk of those turns.
func spanning(level, from, to int) Chunk { return newChunk(level, span{from, to}, "old") }

func TestSummarize(t *testing.T) {
	for name, test := range map[string]struct {
		turn    int
		summary *Summary
		history []Message
		want    string
		last    int
		// asked are the contents of the first and the last message that are summarised; empty when nothing was asked.
		asked [2]string
	}{
		"not yet":    {5, nil, numberedHistory(5), "", 0, [2]string{}},
		"first":      {6, nil, numberedHistory(6), "L0-1-4", 4, [2]string{"question 1", "answer 4"}},
		"unnumbered": {6, nil, withoutTurns(numberedHistory(6)), "L0-1-4", 4, [2]string{"question 1", "answer 4"}},
		"one later":  {7, nil, numberedHistory(7), "L0-1-5", 5, [2]string{"question 1", "answer 5"}},
		"second": {
			10, &Summary{0, 4, []Chunk{spanning(0, 1, 4)}}, numberedHistory(10), "L0-1-4 L0-5-8", 8,
			[2]string{"question 5", "answer 8"},
		},
		"same again": {
			6, &Summary{0, 0, []Chunk{spanning(0, 1, 4)}}, numberedHistory(6), "L0-1-4", 4,
			[2]string{"question 1", "answer 4"},
		},
		"within another": {
			6, &Summary{1, 0, []Chunk{spanning(1, 1, 20)}}, numberedHistory(6), "L0-1-4 L1-5-20", 4,
			[2]string{"question 1", "answer 4"},
		},
		"begun before": {
			8, &Summary{0, 2, []Chunk{spanning(0, 1, 4)}}, numberedHistory(8), "L0-1-2 L0-3-6", 6,
			[2]string{"question 3", "answer 6"},
		},
		"catching up": {
			50, &Summary{0, 4, []Chunk{spanning(0, 1, 4)}}, numberedHistory(50), "L0-1-4 L0-5-48", 48,
			[2]string{"question 5", "answer 48"},
		},
		"far behind": {
			2000, &Summary{0, 4, []Chunk{spanning(0, 1, 4)}}, numberedHistory(2000), "L0-1-4 L0-5-504", 504,
			[2]string{"question 5", "answer 504"},
		},
		"history begins later": {
			5000, &Summary{0, 4, []Chunk{spanning(0, 1, 4)}}, numberedHistory(5000)[2*4900:], "L0-1-4 L0-5-4998", 4998,
			[2]string{"question 4901", "answer 4998"},
		},
		"few unnumbered": {
			50, nil, withoutTurns(numberedHistory(2)), "L0-1-48", 48, [2]string{"question 1", "answer 2"},
		},
		"no history":      {50, nil, nil, "", 0, [2]string{}},
		"ahead of itself": {6, &Summary{0, 9, nil}, numberedHistory(6), "", 9, [2]string{}},
		"absurd numbers": {
			math.MinInt, &Summary{0, math.MaxInt - 10, nil}, []Message{{Role: chat.User, Turn: math.MaxInt - 5}}, "",
			math.MaxInt - 10, [2]string{},
		},
		"below zero": {6, &Summary{0, -7, nil}, numberedHistory(6), "L0-1-4", 4, [2]string{"question 1", "answer 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			model := &memoryModel{summary: replying("new")}
			in := rememberInput{Model: model, Pipeline: onlySummaries, History: test.history, Memory: Memory{
				TurnIndex: test.turn, Summary: test.summary,
			}}
			got, delta, _, faults := remembering(t.Context(), in)
			if spansOf(got) != test.want || faults != nil {
				t.Fatalf("chunks %q, %v, want %q", spansOf(got), faults, test.want)
			}
			if got.Summary != nil && got.Summary.LastSummarizedTurn != test.last {
				t.Errorf("last summarized turn %d, want %d", got.Summary.LastSummarizedTurn, test.last)
			}
			if test.asked[0] == "" {
				if len(model.asked) > 0 || delta.Stages[SummarizeStage] != StageSkipped ||
					!reflect.DeepEqual(got, in.Memory) {
					t.Errorf("asked %v, %v", model.asked, delta)
				}
				return
			}
			var question chunkQuestion
			if err := json.Unmarshal([]byte(model.asked[0].Messages[1].Content.Text), &question); err != nil {
				t.Fatal(err)
			}
			first, last := question.Messages[0], question.Messages[len(question.Messages)-1]
			if first.Content != test.asked[0] || last.Content != test.asked[1] {
				t.Errorf("asked from %q to %q", first.Content, last.Content)
			}
			if len(delta.ChunksAdded) != 1 || delta.ChunksAdded[0].Text != "new" ||
				delta.Stages[SummarizeStage] != StageOK {
				t.Errorf("delta %+v", delta)
			}
		})
	}
}

// dialogue writes a history in short: one letter a message, u for the user's and a for the assistant's.
func dialogue(roles string) []Message {
	var history []Message
	for i, r := range roles {
		role := chat.User
		if r == 'a' {
			role = chat.Assistant
		}
		history = append(history, Message{Role: role, Content: fmt.Sprint(i)})
	}
	return history
}

func TestMessagesOfTurns(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	huge := numberedHistory(30)
	for i := range huge {
		huge[i].Content = long
	}
	for name, test := range map[string]struct {
		history []Message
		last    int
		wanted  span
		covered span
		turns   string
	}{
		"runs of a role":     {dialogue("uuauaauaua"), 4, span{1, 2}, span{1, 2}, "122"},
		"begins with answer": {dialogue("auaua"), 3, span{1, 2}, span{1, 2}, "11122"},
		"unanswered":         {dialogue("uauau"), 2, span{1, 1}, span{1, 1}, "11"},
		"older than memory":  {dialogue("uauauaua"), 2, span{1, 1}, span{1, 1}, "11"},
		"partly numbered": {
			append(dialogue("uaua"), numberedHistory(5)[4:]...), 5, span{1, 4}, span{1, 4}, "11223344",
		},
		"long messages": {huge, 30, span{1, 28}, span{1, 5}, "1122334455"},
		"one endless turn": {
			dialogue("u" + strings.Repeat("a", 5000) + "uaua"), 3, span{1, 1}, span{1, 1},
			strings.Repeat("1", maxChunkMessages),
		},
		"endless then next": {
			dialogue("u" + strings.Repeat("a", 5000) + "uauaua"), 4, span{1, 2}, span{1, 1},
			strings.Repeat("1", maxChunkMessages),
		},
	} {
		t.Run(name, func(t *testing.T) {
			messages, covered := messagesOf(numbered(test.history), test.wanted)
			turns := ""
			for _, m := range messages {
				turns += fmt.Sprint(m.Turn)
				if tokens(m.Content) > maxMessageTokens {
					t.Errorf("a message of %d tokens", tokens(m.Content))
				}
			}
			if turns != test.turns || covered != test.covered {
				t.Errorf("turns %s covering %v, want %s covering %v", turns, covered, test.turns, test.covered)
			}
		})
	}
}

// fourOf returns four chunks of a level with so many turns each.
func fourOf(level, from, width int) []Chunk {
	var chunks []Chunk
	for i := range foldWidth {
		chunks = append(chunks, newChunk(level, span{from + i*width, from + (i+1)*width - 1}, fmt.Sprint("text ", i)))
	}
	return chunks
}

func TestResummarize(t *testing.T) {
	cascade := slices.Concat(fourOf(3, 1, 10)[:3], fourOf(2, 31, 5)[:3], fourOf(1, 46, 2)[:3], fourOf(0, 52, 1))
	backlog := slices.Concat(fourOf(0, 1, 4), fourOf(0, 17, 4), fourOf(0, 33, 4))
	for name, test := range map[string]struct {
		chunks []Chunk
		want   string
		level  int
		folds  int
	}{
		"three":    {fourOf(0, 1, 4)[:3], "", 0, 0},
		"four":     {fourOf(0, 1, 4), "L1-1-16", 1, 1},
		"in place": {fourOf(3, 1, 4), "L3-1-16", 3, 1},
		"cascade":  {cascade, "L3-1-55", 3, 4},
		"backlog":  {backlog, "L1-1-16 L1-17-32 L1-33-48", 1, 3},
		"interleaved": {
			[]Chunk{spanning(0, 1, 2), spanning(2, 3, 4), spanning(0, 5, 6), spanning(0, 7, 7), spanning(0, 8, 8)}, "",
			0, 0,
		},
		"level 99": {
			[]Chunk{spanning(99, 1, 2), spanning(9, 3, 4), spanning(8, 5, 6), spanning(7, 7, 9)}, "L3-1-9", 3, 1,
		},
		"overlapping": {[]Chunk{
			spanning(0, 6, 4), spanning(0, -6, 4), spanning(0, 5, 12), spanning(0, 1, 8), spanning(0, 2, 3),
			spanning(0, 13, 13), spanning(0, 14, math.MaxInt), spanning(0, 14, math.MaxInt),
		}, fmt.Sprint("L1-1-", math.MaxInt), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			model := &memoryModel{summary: replying("folded")}
			seeded := Memory{TurnIndex: 60, Summary: &Summary{LastSummarizedTurn: 58, Chunks: test.chunks}}
			in := rememberInput{Model: model, Pipeline: onlySummaries, Memory: seeded}
			got, delta, _, _ := remembering(t.Context(), in)
			if test.folds == 0 {
				if !reflect.DeepEqual(got, in.Memory) || delta.Stages[ResummarizeStage] != StageSkipped {
					t.Errorf("became %+v, %v", got.Summary, delta.Stages)
				}
				return
			}
			if spansOf(got) != test.want || got.Summary.Level != test.level || got.Summary.LastSummarizedTurn != 58 {
				t.Errorf("became %+v, want %s at level %d", got.Summary, test.want, test.level)
			}
			if len(delta.ChunksAdded) != test.folds || len(delta.ChunksAdded[0].Sources) != foldWidth ||
				delta.Stages[ResummarizeStage] != StageOK {
				t.Errorf("delta %+v, want %d folds", delta, test.folds)
			}
			in.Model = &memoryModel{}
			failed, delta, _, _ := remembering(t.Context(), in)
			if !reflect.DeepEqual(failed, in.Memory) || delta.Stages[ResummarizeStage] != StageError {
				t.Errorf("a model that fails leaves %+v, %v", failed.Summary, delta.Stages)
			}
		})
	}
}

func TestSummaryReply(t *testing.T) {
	for reply, want := range map[string]string{
		" They met.\nThey left. ": "They met. They left.", `{"summary":"a","text":"b"}`: "a", `{"text":"b"}`: "b",
		"```json\n{\"text\":\"b\"}\n```": "b", "```\nplain\n```": "plain",
		"{not json": "{not json", strings.Repeat("é", 9000): strings.Repeat("é", maxSummary),
		"": "", " \n\t": "", `{}`: "", `{"summary":" "}`: "", "```": "", "``````": "",
	} {
		got, err := readSummary(reply)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%.40q gives %.40q, %v", reply, got, err)
		}
	}
}

// TestSummarySpans holds long conversations with a model that fails at will, and looks at the chunks after every turn.
func TestSummarySpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		failing := rapid.IntRange(0, 9).Draw(t, "failures of 10")
		dice := rapid.Uint64().Draw(t, "dice")
		broken := func() bool {
			dice = dice*6364136223846793005 + 1442695040888963407
			return int(dice>>33%10) < failing
		}
		model := &memoryModel{summary: func() (string, error) {
			if broken() {
				return "", errors.New("down")
			}
			return "s", nil
		}}
		history := numberedHistory(300)
		if rapid.Bool().Draw(t, "unnumbered") {
			history = withoutTurns(history)
		}
		memory := Memory{}
		for turn := 1; turn <= 300; turn++ {
			memory.TurnIndex = turn
			in := rememberInput{Model: model, Pipeline: onlySummaries, History: history[:2*turn], Memory: memory}
			after, delta, usage, _ := remembering(context.Background(), in)
			if usage.LLMCalls > 1+maxFolds {
				t.Fatalf("%d calls in one turn", usage.LLMCalls)
			}
			checkChunks(t, memory, after, delta)
			memory = after
		}
		if failing == 0 && (memory.Summary.LastSummarizedTurn < 300-summaryEvery ||
			len(memory.Summary.Chunks) > 3*(maxLevel+1)) {
			t.Fatalf("after 300 turns there is %+v", memory.Summary)
		}
	})
}

// checkChunks holds what every turn must keep of the summary.
func checkChunks(t *rapid.T, before, after Memory, delta MemoryDelta) {
	if after.Summary == nil {
		return
	}
	known := map[string]bool{}
	if before.Summary != nil {
		for _, c := range before.Summary.Chunks {
			known[c.ID] = true
		}
	}
	for _, c := range delta.ChunksAdded {
		for _, source := range c.Sources {
			if !known[source] {
				t.Fatalf("chunk %s is made of %s, which never was", c.ID, source)
			}
		}
		known[c.ID] = true
	}
	end, counts := 0, map[int]int{}
	for _, c := range after.Summary.Chunks {
		if c.FromTurn != end+1 || c.ToTurn < c.FromTurn || c.ID != c.named().ID || !known[c.ID] {
			t.Fatalf("turn %d: chunk %s after turn %d", after.TurnIndex, c.ID, end)
		}
		end = c.ToTurn
		counts[c.Level]++
	}
	if end != after.Summary.LastSummarizedTurn || end > after.TurnIndex-keptVerbatim ||
		after.Summary.Level != topLevel(after.Summary.Chunks) {
		t.Fatalf("turn %d: summary %+v covers %d turns", after.TurnIndex, after.Summary, end)
	}
	for level, count := range counts {
		if delta.Stages[ResummarizeStage] == StageSkipped && count >= foldWidth {
			t.Fatalf("turn %d: %d chunks of level %d", after.TurnIndex, count, level)
		}
	}
}

// TestHostileSummaryBecomesTidy holds that whatever is seeded, what the pipeline makes of it has disjoint spans.
func TestHostileSummaryBecomesTidy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rememberInput{
			Model: &memoryModel{summary: replying("s")}, Pipeline: onlySummaries, History: numberedHistory(40),
			Memory: anyMemory(t),
		}
		after, delta, _, _ := remembering(context.Background(), in)
		if len(delta.ChunksAdded) == 0 {
			if !reflect.DeepEqual(after, in.Memory) {
				t.Fatalf("the memory changed from %+v to %+v", in.Memory, after)
			}
			return
		}
		end := 0
		for _, c := range after.Summary.Chunks {
			if c.FromTurn <= end || c.ToTurn < c.FromTurn || c.Level < 0 || c.Level > maxLevel {
				t.Fatalf("chunk %+v after turn %d", c, end)
			}
			end = c.ToTurn
		}
		if again := tidy(after.Summary.Chunks); !reflect.DeepEqual(again, after.Summary.Chunks) {
			t.Fatalf("tidied chunks become %+v", again)
		}
	})
}
