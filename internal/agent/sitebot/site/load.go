package site

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxSiteBytes bounds the file of a site.
const maxSiteBytes = 1 << 20

// readFile reads a file of bounded size.
func readFile(from source.Files, path string) ([]byte, error) {
	info, err := from.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no site at %s: check --sites", path)
	case err != nil:
		return nil, fmt.Errorf("read a site: %w", err)
	case info.Size() > maxSiteBytes:
		return nil, tooLarge(path)
	}
	data, err := from.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a site: %w", err)
	}
	return data, nil
}

func tooLarge(file string) error {
	return source.Problems{{
		File: file, Message: fmt.Sprintf("the file is larger than %d MB", maxSiteBytes>>20),
		Hint: "keep long texts in prompts and in the knowledge base",
	}}
}

// Load reads a site from the content of a file, whose name says where relative paths start and where problems are.
// The error is a source.Problems with every fault; warnings are kept in the site.
func Load(file string, data []byte) (*Site, error) {
	if len(data) > maxSiteBytes {
		return nil, tooLarge(file)
	}
	root, err := source.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	return read(source.Files{}, file, root)
}

// read reads a parsed file.
func read(from source.Files, file string, root source.Value) (*Site, error) {
	r := &reader{from: from, Reader: source.Reader{File: file}, site: fresh(file), fields: map[string]source.Node{}}
	r.read(r.Node(root, ""))
	if err := r.Problems.InOrder().Err(); err != nil {
		return nil, err
	}
	r.lint(r.Node(root, ""))
	r.site.Warnings = r.warnings
	return r.site, nil
}

// fresh returns a site with every default.
func fresh(file string) *Site {
	s := &Site{
		File: file, Dir: filepath.Dir(file), Language: English, Locale: English, names: map[string]source.Problem{},
	}
	s.Qualification.InterestSignals.Threshold = 10
	s.CTA.MinTurn = 2
	s.Booking.Fields = []BookingField{{ID: "email", Type: Email}}
	s.Suggestions = Suggestions{FollowUps: true, Answers: true}
	s.Enrichment.Sources = slices.Clone(sources)
	s.Limits = defaultLimits()
	s.Widget.Position = Right
	return s
}

// reader reads one site.
type reader struct {
	from source.Files
	source.Reader
	site     *Site
	warnings source.Problems
	// fields are the places of the qualification's fields, by id.
	fields map[string]source.Node
}

// warn notes something strange that keeps nothing from working.
func (r *reader) warn(n source.Node, hint, format string, args ...any) {
	p := positionOf(n)
	p.Message, p.Hint = fmt.Sprintf(format, args...), hint
	r.warnings = append(r.warnings, p)
}

// positionOf returns a problem with the position of a node only.
func positionOf(n source.Node) source.Problem {
	return source.Problem{File: n.File(), Path: n.Path(), Line: n.Line, Column: n.Column}
}

// fileKeys are the keys of a file. Nodes are read when the rest is known.
type fileKeys struct {
	*Site
	Named    source.Node `key:"site" required:"a site needs a name" schema:"host" doc:"the site_name of requests"`
	Aliases  source.Node `key:"aliases" schema:"hosts" doc:"the site's other names"`
	Language source.Node `key:"language" schema:"language" doc:"the site's language, such as en or fr-CA"`
	Timezone source.Node `key:"timezone" schema:"zone" doc:"time zone of the site's days (default UTC)"`
}

// read reads the keys of the file.
func (r *reader) read(n source.Node) {
	s := r.site
	keys := fileKeys{Site: s}
	source.Decode(n, &keys)
	s.Name, s.Aliases, s.zone = r.name(keys.Named), r.aliases(keys.Aliases), readZone(keys.Timezone)
	if n.Has("language") {
		s.Language, s.Locale = readLanguage(keys.Language), keys.Language.Scalar
	}
	company, models := &s.Company, &s.Models
	for _, text := range []*string{
		&company.Name, &company.Description, &models.Default, &models.Fast, &s.ContentGating.Asset,
	} {
		*text = strings.TrimSpace(*text)
	}
	r.qualification(n.Field("qualification"))
	booking := n.Field("booking")
	unique(booking.Field("fields"), "booking field", map[string]source.Node{})
	unique(booking.Field("post_conversion_fields"), "booking field", map[string]source.Node{})
	if len(s.Booking.Fields) == 0 {
		booking.Field("fields").Report("name at least one, such as [email]", "a booking needs a field")
	}
	if !n.Field("content_gating").Has("enabled") {
		s.ContentGating.Enabled = s.ContentGating.Asset != ""
	}
	if folder := &s.KnowledgeBase.Folder; *folder != "" && !filepath.IsAbs(*folder) {
		*folder = filepath.Join(s.Dir, filepath.FromSlash(*folder))
	}
	hook, posthog := n.Field("integrations").Field("lead_webhook"), n.Field("integrations").Field("posthog")
	s.Integrations = Integrations{
		LeadWebhook{envName(hook.Field("url_env")), envName(hook.Field("secret_env"))},
		PostHog{envName(posthog.Field("host_env")), envName(posthog.Field("key_env"))},
	}
	if company.Name == "" {
		company.Name = s.Name
	}
	s.Region = regionOf(s.Locale, s.Zone())
}

// nonBlank returns a text that says something.
func nonBlank(n source.Node) string {
	text := strings.TrimSpace(n.Text())
	if text == "" && n.Kind == source.String {
		n.Report("write a text, or remove the key", "the text is empty")
	}
	return text
}

// scalar returns the text of a key, without white space around it, and false where there is none.
func scalar(n source.Node) (string, bool) {
	return strings.TrimSpace(n.Scalar), n.Kind == source.String || n.Kind == source.Number || n.Kind == source.Bool
}
