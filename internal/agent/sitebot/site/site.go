// Package site is the configuration of one website's chatbot: what its company is, what visitors are asked, when a demo
// is proposed and where the knowledge is. A site is one file; a folder of them is a Library. Secrets stand in the
// environment, never in the file.
package site

import (
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Site is one site's configuration, complete with defaults. It is immutable once loaded and safe for concurrent use.
type Site struct {
	// File is where the site was read, Dir what its relative paths start from.
	File, Dir string
	// Name is the site_name of requests, in lower case; Aliases are other names for it.
	Name    string
	Aliases []string
	// Language is the primary subtag of the language for visitors who do not say theirs.
	Language string
	// Locale is the tag that the file names, such as en-US.
	Locale string
	// Region is the country (ISO 3166) of phone numbers without a country code; empty if the file does not show it.
	Region        string
	Company       Company       `key:"company" doc:"company that runs the site"`
	Prompts       Prompts       `key:"prompts" doc:"prompts that replace the built-in ones"`
	Models        Models        `key:"models" doc:"models: PROVIDER:MODEL, or names of rehearse.yaml"`
	Qualification Qualification `key:"qualification" doc:"what the chatbot finds out about visitors"`
	CTA           CTA           `key:"cta" doc:"the call to action"`
	Booking       Booking       `key:"booking" doc:"what a booking needs"`
	ContentGating ContentGating `key:"content_gating" doc:"what visitors get for their email address"`
	Suggestions   Suggestions   `key:"suggestions" doc:"messages that visitors can send with a click"`
	KnowledgeBase KnowledgeBase `key:"knowledge_base" doc:"documents to answer from: a folder, or a LightRAG server"`
	Enrichment    Enrichment    `key:"enrichment" doc:"how the chatbot finds out who a visitor is"`
	Integrations  Integrations  `key:"integrations" doc:"systems that receive leads"`
	Limits        Limits        `key:"limits" doc:"how much visitors may use; 0 sets no limit"`
	Widget        Widget        `key:"widget" doc:"how the chat looks on a page"`
	// Warnings are what is strange about the file but keeps nothing from working.
	Warnings source.Problems

	// zone is where the site's days begin and end; nil for UTC.
	zone *time.Location
	// names are the places of Name and Aliases.
	names map[string]source.Problem
}

// Company is whom the chatbot speaks for.
type Company struct {
	Name        string `key:"name" notblank:"true" doc:"the company's name (default: that of the site)"`
	Description string `key:"description" doc:"what the company does"`
}

// Prompts are names in the prompt source; empty means the built-in name. Names may hold {agent} and {site}.
type Prompts struct {
	// Meta is the outermost template of every answer; Answer, Redirect, Booking and PostConversion are its parts
	// for one agent each.
	Meta           string `key:"meta" notblank:"true" schema:"prompt" doc:"the prompt around all others"`
	Answer         string `key:"answer" notblank:"true" schema:"prompt" doc:"the prompt of answers"`
	Redirect       string `key:"redirect" notblank:"true" schema:"prompt" doc:"the prompt of answers to other subjects"`
	Booking        string `key:"booking" notblank:"true" schema:"prompt" doc:"the prompt of a booking"`
	PostConversion string `key:"post_conversion" notblank:"true" schema:"prompt" doc:"the prompt after a conversion"`
	// Instructions are the site's own words to an agent.
	Instructions string `key:"instructions" notblank:"true" schema:"prompt" doc:"the prompt with instructions"`
	// Nodes are the prompts of nodes that return data, by the node's name.
	Nodes map[string]string
}

// Models are PROVIDER:MODEL or a name that the program knows; empty means the program's own choice.
type Models struct {
	// Default writes and judges; Fast classifies intents and redirects.
	Default string `key:"default" notblank:"true" doc:"the model that answers visitors"`
	Fast    string `key:"fast" notblank:"true" doc:"the model that finds data in messages"`
}

// Qualification is what the site wants to learn of its visitors.
type Qualification struct {
	Profiling       Profiling       `key:"profiling" doc:"questions for visitors"`
	InterestSignals InterestSignals `key:"interest_signals" doc:"signs that a visitor is interested"`
}

// Profiling is what visitors are asked, form by form.
type Profiling struct {
	Forms []Form `key:"forms" doc:"forms, in the order of their questions"`
}

// Form is a set of questions. Those of an optional form do not hold back the proposal of a demo.
type Form struct {
	ID       string       `key:"id" schema:"id" doc:"the form's name"`
	Optional bool         `key:"optional" doc:"no field of the form is required"`
	Groups   []FieldGroup `key:"field_groups" doc:"the form's groups of fields"`
}

// FieldGroup is a part of a form.
type FieldGroup struct {
	ID     string  `key:"id" schema:"id" doc:"the group's name"`
	Fields []Field `key:"fields" doc:"the group's fields"`
}

// Field is one thing to learn, by one question.
type Field struct {
	ID       string `key:"id" required:"the field has no id" schema:"id" doc:"the field's name"`
	Question string `key:"question" notblank:"true" doc:"the question that fills the field"`
	// Required is true when the field must be known before a demo is proposed; never in an optional form.
	Required bool `key:"required" doc:"a demo is proposed only when the field has an answer or the visitor declines"`
	// Choices are the values that it may take; nil means any.
	Choices []string
}

// InterestSignals say when a visitor is interested enough.
type InterestSignals struct {
	// Threshold is the cumulative score from which a demo is proposed; 0 or less switches that off.
	Threshold int      `key:"threshold" minimum:"-100" doc:"score that proposes a demo; 0 or less turns this off"`
	Signals   []Signal `key:"signals" doc:"the signals"`
}

// Signal is a sign of interest. When says to a model how to recognise it.
type Signal struct {
	ID     string `key:"id" required:"the signal has no id" schema:"id" doc:"the signal's name"`
	Weight int    `key:"weight" required:"the signal has no weight" minimum:"-100" maximum:"100" doc:"-100 to 100"`
	When   string `key:"when" notblank:"true" doc:"when the signal counts, in words"`
}

// CTA is the call to action: what a proposed demo leads to.
type CTA struct {
	// MinTurn is the skill turn before which no demo is proposed unless the visitor asks for one.
	MinTurn int    `key:"min_turn" minimum:"0" doc:"first turn that may propose a demo"`
	URL     string `key:"url" notblank:"true" schema:"url" doc:"the address of the demo"`
	// Label is what the button says that leads there; empty means the built-in words.
	Label string `key:"label" notblank:"true" doc:"the button's label"`
	// FormFields map what was collected to parameters of the URL, in the order of the file.
	FormFields []FormField
}

// FormField puts a collected value into a parameter of the call to action's address.
type FormField struct{ Field, Parameter string }

// Booking is what is asked to book a demo.
type Booking struct {
	// Fields are asked in this order, PostConversion once the visitor has converted.
	Fields         []BookingField `key:"fields" doc:"fields before the booking (default: email)"`
	PostConversion []BookingField `key:"post_conversion_fields" doc:"fields after the booking"`
}

// BookingField is one value to ask for.
type BookingField struct {
	ID   string    `key:"id" required:"the booking field has no id" schema:"id" doc:"the field's name"`
	Type FieldType `key:"type" enum:"email,phone,date,text" doc:"the type of its values"`
}

// FieldType says which values a booking field takes.
type FieldType string

// The types of booking fields.
const (
	Email FieldType = "email"
	Phone FieldType = "phone"
	Date  FieldType = "date"
	Text  FieldType = "text"
)

// ContentGating offers something in return for an e-mail address.
type ContentGating struct {
	Enabled bool   `key:"enabled" doc:"the chatbot offers the asset (default: true if there is one)"`
	Asset   string `key:"asset" notblank:"true" doc:"what visitors get"`
}

// Suggestions switch on what visitors may click on below an answer.
type Suggestions struct {
	FollowUps bool `key:"follow_ups" doc:"questions that follow an answer (default true)"`
	Answers   bool `key:"answers" doc:"answers to a question (default true)"`
}

// KnowledgeBase is a folder of documents or a LightRAG server; the zero value is neither.
type KnowledgeBase struct {
	// Folder is a path from the working directory, already joined to the site file's folder.
	Folder   string
	LightRAG *LightRAG `key:"lightrag" required:"the knowledge base is neither a folder nor a server" doc:"a server"`
}

// LightRAG is a server of the project of that name.
type LightRAG struct {
	URL  string `key:"url" notblank:"true" required:"a LightRAG server needs an address" schema:"url" doc:"its address"`
	Mode string `key:"mode" enum:"naive,local,global,hybrid,mix,bypass" doc:"search mode (default hybrid)"`
	// APIKeyEnv names the environment variable with the key; empty sends none.
	APIKeyEnv string `key:"api_key_env" schema:"env" doc:"the variable with its API key"`
}

// Enrichment is where to look up who a visitor is.
type Enrichment struct {
	// Sources are tried in this order; those that are not set up are skipped.
	Sources []string
	// IPHashSaltEnv names the environment variable with the salt of hashed addresses.
	IPHashSaltEnv string `key:"ip_hash_salt_env" schema:"env" doc:"the variable with the salt of IP hashes"`
	// StoreIP puts the visitor's own address into the profile. Without it no raw address is kept anywhere.
	StoreIP bool `key:"keep_ip" doc:"store IP addresses without hashing"`
}

// Integrations are systems that are told of leads. An empty name means that the system is not used.
type Integrations struct {
	LeadWebhook LeadWebhook `key:"lead_webhook" doc:"a webhook that receives leads"`
	PostHog     PostHog     `key:"posthog" doc:"a PostHog project"`
}

// LeadWebhook names the environment variables with a webhook's address and the secret that signs for it.
type LeadWebhook struct {
	URLEnv string `key:"url_env" required:"the address of the webhook is missing" schema:"env" doc:"name of a variable"`

	SecretEnv string `key:"secret_env" schema:"env" doc:"the variable with the secret that signs leads"`
}

// PostHog names the environment variables with the address and key of a PostHog project.
type PostHog struct {
	HostEnv string `key:"host_env" schema:"env" doc:"the variable with its host"`
	KeyEnv  string `key:"key_env" required:"the key of the project is missing" schema:"env" doc:"name of a variable"`
}
