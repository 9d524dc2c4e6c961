package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// page is a scrape in Prometheus's text format 0.0.4.
type page struct{ bytes.Buffer }

// mediaType is that of a page.
const mediaType = "text/plain; version=0.0.4; charset=utf-8"

// begin writes what stands before the samples of a metric. A metric without series is left out.
func (p *page) begin(name, help, kind string, series int) {
	if series > 0 {
		fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, escaped(help), name, kind)
	}
}

// sample writes one line; le is the bound of a bucket, empty for all other samples.
func (p *page) sample(name string, labels []string, v values, le string, n float64) {
	p.WriteString(name)
	before := byte('{')
	label := func(name, value string) {
		p.WriteByte(before)
		before = ','
		p.WriteString(name + `="` + quoted(value) + `"`)
	}
	for i, name := range labels {
		label(name, v[i])
	}
	if le != "" {
		label("le", le)
	}
	if before == ',' {
		p.WriteByte('}')
	}
	p.WriteString(" " + number(n) + "\n")
}

// gauge writes a metric of one sample.
func (p *page) gauge(name, help string, n float64) {
	p.begin(name, help, "gauge", 1)
	p.sample(name, nil, values{}, "", n)
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

// escaped returns a help text as the format has it.
func escaped(s string) string { return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s) }

// quoted returns a label's value as it stands between quotation marks.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
