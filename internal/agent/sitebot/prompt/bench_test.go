package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

// busy is a turn that uses every variable: what a site's visitor may have said and found by the middle of a
// conversation.
var busy = prompt.Vars{
	Language: "de-AT", Docs: strings.Repeat("Backups run hourly and are kept for 30 days. ", 40),
	Profile: "company name: Initech\nsector: software", Collected: map[string]string{"company_stage": "seed"},
	Values: map[string]string{"email": "ann@initech.example"}, Field: "profile_type",
	Skills: []string{"suggest_follow_up", "ask_qualification"}, Intent: "LEARN", Action: "ANSWER",
	Detected: []string{"pricing"}, Dialog: "A demo was proposed in the turn before.", Turn: 3,
}

// BenchmarkRender renders every node's prompt again and again, as a conversation does. The goal is 3 µs for the
// built-in prompts.
func BenchmarkRender(b *testing.B) {
	s := load(b, siteFile)
	for _, node := range prompt.Nodes() {
		b.Run(node, func(b *testing.B) { renderAll(b, &prompt.Set{}, node) })
	}
	b.Run("every node together", func(b *testing.B) {
		set := &prompt.Set{}
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				for _, node := range prompt.Nodes() {
					if _, err := set.Render(b.Context(), s, node, busy); err != nil {
						b.Error(err)
					}
				}
			}
		})
	})
}

// BenchmarkRenderFiles renders from a folder: one that has every text of the built-in prompts, and one that has none.
func BenchmarkRenderFiles(b *testing.B) {
	full := b.TempDir()
	if err := os.CopyFS(full, os.DirFS("texts")); err != nil {
		b.Fatal(err)
	}
	instructions := filepath.Join(full, "response-agents", "answer", "instructions")
	if err := os.MkdirAll(instructions, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(instructions, "acme.example.md"),
		[]byte("Our page: {{cta_url}}"), 0o644); err != nil {
		b.Fatal(err)
	}
	for name, dir := range map[string]string{"full": full, "empty": b.TempDir()} {
		set := &prompt.Set{Source: &prompt.Files{Dir: dir}}
		b.Run(name+"/one level", func(b *testing.B) { renderAll(b, set, prompt.SkillSelector) })
		b.Run(name+"/three levels", func(b *testing.B) { renderAll(b, set, prompt.AnswerWriter) })
	}
}

func renderAll(b *testing.B, set *prompt.Set, node string) {
	b.Helper()
	s := load(b, siteFile)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := set.Render(b.Context(), s, node, busy); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSchema asks for the schema of every node that has one.
func BenchmarkSchema(b *testing.B) {
	s, set := load(b, siteFile), &prompt.Set{}
	for _, node := range prompt.Nodes() {
		if _, ok := prompt.Schema(s, node, "profile_type"); !ok {
			continue
		}
		b.Run(node, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = set.Schema(s, node, "profile_type")
			}
		})
	}
}
