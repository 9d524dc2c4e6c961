package enrich

import "slices"

// Merge returns what two writes to a profile come to (sitebot 2.2). Each text is that of next where next knows it, otherwise that
// of old. The status never goes down, and the source follows the write that raised it. Feature lists are united in the order in
// which features first came up. The arguments share no memory with the result.
//
// Merging a profile with itself, or with nothing, changes nothing but repeated or unknown features. As long as every write that
// has a status names its source, it does not matter in which groups a row of writes is merged.
func Merge(old, next Profile) Profile {
	merged := old
	news := next.texts()
	for i, f := range merged.texts() {
		if known(*news[i].text) {
			*f.text = *news[i].text
		}
	}
	raised := next.Status.rank() > old.Status.rank()
	if raised {
		merged.Status = next.Status
	}
	if known(next.Source) && (raised || !known(old.Source)) {
		merged.Source = next.Source
	}
	merged.FeatureList = union(old.FeatureList, next.FeatureList)
	return merged
}

func union(lists ...[]string) []string {
	var all []string
	for _, feature := range slices.Concat(lists...) {
		if known(feature) && !slices.Contains(all, feature) {
			all = append(all, feature)
		}
	}
	return all
}
