package importer

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Trajectories of tau-bench are conversations that were held, with the task of the user who was simulated.

// stopped is what the simulated user says to end the conversation.
const stopped = "###STOP###"

func fitsTauBench(root source.Value) bool {
	one := first(root)
	return has(one, "traj") || has(one, "instruction") && has(one, "actions") || has(one, "messages_display")
}

func readTauBench(r *reader, root source.Value) {
	all := []source.Value{root}
	if root.Kind == source.List {
		all = root.Items
	}
	for i, v := range all {
		e := r.entry(v, "task")
		id := e.text("task_id")
		if id == "" {
			id = fmt.Sprint(i)
		}
		t := &test{id: "task-" + id}
		if trial := e.text("trial"); trial != "" {
			t.id += "-trial-" + trial
		}
		t.metadata = t.metadata.with("reward", e.get("reward"))
		info := r.settings(e.get("info"), "info")
		info.keep("source", "user_cost", "reward_info", "error")
		task := r.entry(info.get("task"), "info.task")
		if has(v, "instruction") {
			task = e
		}
		r.task(t, task)
		if goal := t.user; goal != nil {
			r.system(t, e.list("traj"))
		} else {
			r.trajectoryOf(t, e)
		}
		e.keep("traj", "messages_display")
		if task != e {
			task.rest()
		}
		info.rest()
		e.rest()
		r.add(v, t)
	}
	r.sharedInput()
}

// task reads what the user wanted, and what the agent had to say.
func (r *reader) task(t *test, task *entry) {
	instruction := task.text("instruction")
	if strings.TrimSpace(instruction) == "" {
		return
	}
	t.user = pairs{{"goal", instruction}}
	t.metadata = t.metadata.with("user_id", task.text("user_id"))
	task.keep("annotator")
	task.unsupported("tau-bench compares its database after these calls, which a target does not show", "actions")
	var outputs []any
	for _, v := range task.list("outputs") {
		if text := scalarText(v); strings.TrimSpace(text) != "" {
			outputs = append(outputs, text)
		}
	}
	if len(outputs) > 0 {
		found, _ := r.check(task.part("outputs"), "outputs", pairs{{"type", "icontains_all"}, {"value", outputs}})
		t.whole = append(t.whole, found...)
	}
}

// system takes the policy of the agent, which stands before the conversation.
func (r *reader) system(t *test, traj []source.Value) {
	for _, v := range traj {
		role, _ := v.Get("role")
		content, _ := v.Get("content")
		if role.Scalar == "system" && !blank(scalarText(content)) {
			t.input = append(t.input, message{"system", scalarText(content)})
		}
	}
}

// trajectoryOf makes turns of a conversation that was held.
func (r *reader) trajectoryOf(t *test, e *entry) {
	var said []source.Value
	for _, v := range e.list("traj") {
		if content, _ := v.Get("content"); strings.TrimSpace(content.Scalar) == stopped {
			continue
		}
		said = append(said, v)
	}
	if text := e.text("messages_display"); text != "" {
		said = append(said, displayed(text, e.Line)...)
	}
	r.said(t, said)
}

// displayed returns the messages of a conversation that was written for people: a line for each speaker and tool.
func displayed(text string, line int) (all []source.Value) {
	var role string
	var b strings.Builder
	flush := func() {
		if said := strings.TrimSpace(b.String()); said != "" && said != "None" && said != stopped &&
			(role == "user" || role == "assistant") {
			all = append(all, source.Value{Kind: source.Map, Line: line, Fields: []source.Field{
				{Name: "role", Value: source.Text(role)}, {Name: "content", Value: source.Text(said)},
			}})
		}
		b.Reset()
	}
	for part := range strings.SplitSeq(text, "\n") {
		speaker, said, ok := strings.Cut(part, ": ")
		if ok && (speaker == "user" || speaker == "assistant" || speaker == "tool" || speaker == "system") {
			flush()
			role, part = speaker, said
		}
		b.WriteString(part + "\n")
	}
	flush()
	return all
}

// sharedInput moves the messages before the turns to the suite if every test has the same.
func (r *reader) sharedInput() {
	if len(r.tests) < 2 || len(r.input) > 0 || len(r.tests[0].input) == 0 {
		return
	}
	common := fmt.Sprint(r.tests[0].input)
	for _, t := range r.tests {
		if fmt.Sprint(t.input) != common {
			return
		}
	}
	r.input = r.tests[0].input
	for _, t := range r.tests {
		t.input = nil
	}
}
