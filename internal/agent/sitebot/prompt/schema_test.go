package prompt_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
)

// Documented replies follow the schemas, and others do not.
func TestSchema(t *testing.T) {
	s := load(t, siteFile)
	reasons := `{"none":null,"suggest_follow_up":"early","ask_qualification":null,"propose_demo":null,
		"ask_email":null,"capture_email":null,"deliver_content":null}`
	profile := `"company_name":"Initech","company_description":null,"company_domain":null,"sector":null,"sub_sector":null,"email":null,
		"job_to_be_done":null,"intent":null,"feature_list":["backups"]`
	for _, tc := range []struct{ node, field, good, bad string }{
		{prompt.IntentClassifier, "", `{"intent":"HACK","confidence":0.7}`, `{"intent":"WAR","confidence":1}`},
		{prompt.InterestSignalsDetector, "", `{"signals":["pricing"]}`, `{"signals":["money"]}`},
		{
			prompt.SkillSelector, "", `{"skills":["suggest_follow_up"],"reasons":` + reasons + `}`,
			`{"skills":["dance"],"reasons":` + reasons + `}`,
		},
		{
			prompt.EarlyProfileExtractor, "profile_type", `{"value":"technical","values":{"company_stage":"seed"}}`,
			`{"value":"both","values":{"company_stage":null}}`,
		},
		{prompt.EarlyProfileExtractor, "profile_type", `{"value":"declined","values":{"company_stage":null}}`, `{}`},
		{
			prompt.EarlyProfileExtractor, "company_stage", `{"value":null,"values":{"profile_type":"business"}}`,
			`{"value":null,"values":{"profile_type":"both"}}`,
		},
		{
			prompt.VisitorProfile, "", `{` + profile + `,"sector_confidence_level":"low"}`,
			`{` + profile + `,"sector_confidence_level":0.5}`,
		},
		{prompt.FormFieldExtractor, "", `{"fields":{"company_stage":"seed","work_email":null},"corrections":{"company_stage":null,"profile_type":"technical"}}`, `{"fields":{"other":"x"}}`},
		{prompt.FollowUpSuggester, "", `{"suggestions":["What does it cost?"]}`, `{"suggestions":"What?"}`},
		{prompt.AnswerSuggester, "", `{"answers":[]}`, `{"answers":null}`},
	} {
		data, ok := prompt.Schema(s, tc.node, tc.field)
		if !ok {
			t.Errorf("%s has no schema", tc.node)
			continue
		}
		schema := compile(t, data)
		if err := schema.Validate(parse(t, tc.good)); err != nil {
			t.Errorf("%s refuses %s: %v", tc.node, tc.good, err)
		}
		if err := schema.Validate(parse(t, tc.bad)); err == nil {
			t.Errorf("%s takes %s", tc.node, tc.bad)
		}
	}
	for _, node := range []string{
		prompt.AnswerWriter, prompt.RedirectHandler, prompt.BookingHandler, prompt.PostConversionHandler, "finalize",
	} {
		if _, ok := prompt.Schema(s, node, ""); ok {
			t.Errorf("%s writes text", node)
		}
	}
}

// A site that says nothing has schemas that can be sent: no list of values is empty.
func TestSchemaMinimal(t *testing.T) {
	s := load(t, "site: x")
	for _, node := range prompt.Nodes() {
		if data, ok := prompt.Schema(s, node, ""); ok {
			compile(t, data)
			if strings.Contains(string(data), `"enum":[]`) {
				t.Errorf("%s: %s", node, data)
			}
		}
	}
}

func compile(t *testing.T, data json.RawMessage) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parse(t, string(data))); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
