package replay

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The kinds of what can be replayed, as references begin.
const (
	variantReference = "variant:"
	targetReference  = "target:"
)

// refer completes the ids of candidate and baseline by their references.
func (s *Spec) refer() error {
	for _, lane := range []struct {
		id, reference   *string
		idFlag, refFlag string
	}{
		{&s.VariantID, &s.Candidate, "--variant_id", "--candidate"},
		{&s.BaselineID, &s.Baseline, "--baseline_variant_id", "--baseline"},
	} {
		if *lane.reference == "" {
			continue
		}
		id, variant := strings.CutPrefix(*lane.reference, variantReference)
		name, named := strings.CutPrefix(*lane.reference, targetReference)
		if named {
			id = *lane.reference
		}
		switch {
		case !variant && !named, variant && (id == "" || strings.HasPrefix(id, targetReference)), named && name == "":
			return source.Invalid(
				"%s %q is no reference: write variant:ID, or target:NAME with a target of rehearse.yaml", lane.refFlag,
				*lane.reference)
		case *lane.id != "" && *lane.id != id:
			return source.Invalid("%s and %s name two agents: keep one of them", lane.refFlag, lane.idFlag)
		}
		*lane.id = id
	}
	return nil
}

// TargetNamed returns the name of the target that an id of a Spec stands for; ok is false for that of a variant.
func TargetNamed(id string) (name string, ok bool) { return strings.CutPrefix(id, targetReference) }
