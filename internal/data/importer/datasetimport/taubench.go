package datasetimport

import "fmt"

// Trajectories of tau-bench are whole conversations with their tool calls and a reward.

// stopped is what the simulated user says to end the conversation.
const stopped = "###STOP###"

func isTauBench(root any) bool { return list(first(root)["traj"]) != nil }

func readTauBench(f *file, root any) (all []conversation) {
	for _, v := range list(root) {
		run := mapping(v)
		f.rest(run, "task_id", "trial", "traj", "reward")
		c := conversation{name: fmt.Sprintf("task-%v-trial-%v", run["task_id"], run["trial"])}
		for _, v := range list(run["traj"]) {
			message := mapping(v)
			said := text(message["content"])
			f.lose("tool_calls", len(list(message["tool_calls"])))
			switch role := text(message["role"]); {
			case role == "user" && said == stopped:
				f.lose("messages "+stopped, 1)
			case role == "user":
				c.turns = append(c.turns, turn{query: said, extra: map[string]any{"reward": run["reward"]}})
			case role == "assistant" && said != "" && len(c.turns) > 0:
				last := &c.turns[len(c.turns)-1]
				if last.answer != "" {
					said = last.answer + "\n\n" + said
				}
				last.answer = said
			case role != "assistant":
				f.lose("messages of the role "+role, 1)
			}
		}
		all = append(all, c)
	}
	return all
}
