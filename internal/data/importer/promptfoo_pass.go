package importer

import "math"

// passing says what it takes to pass: as in the tool every check, or the threshold of the test.
func (p *promptfoo) passing(c *testCase, least float64) pairs {
	if c.threshold >= 0 {
		return pairs{{"threshold", math.Min(c.threshold, 1)}}
	}
	if p.kind == "agentv" {
		return nil
	}
	passing := pairs{{"strict", true}}
	if least < 0.8 {
		passing = append(passing, pair{"threshold", math.Max(least, 0.01)})
	}
	return passing
}

// stricter joins how the turns of a conversation pass.
func stricter(a, b pairs) pairs {
	low := func(p pairs) float64 {
		if n, ok := p.get("threshold").(float64); ok {
			return n
		}
		return 0.8
	}
	all := a.get("strict") != nil || b.get("strict") != nil
	joined := pairs{}.with("target", a.get("target"))
	if all {
		joined = append(joined, pair{"strict", true})
		return append(joined, pair{"threshold", math.Min(low(a), low(b))})
	}
	return append(joined, pair{"threshold", math.Max(low(a), low(b))})
}
