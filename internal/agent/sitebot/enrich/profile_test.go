package enrich

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKnown(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, " \t\n": false, "unknown": false, " UnKnown ": false, "N/A": false, "none": false,
		"Acme": true, "nonesuch": true, "na": true, "0": true,
	} {
		if got := known(text); got != want {
			t.Errorf("known(%q) is %v, want %v", text, got, want)
		}
	}
}

func TestMerge(t *testing.T) {
	cases := []struct {
		name            string
		old, next, want Profile
	}{
		{
			"takes what is known",
			Profile{CompanyName: "Old", Sector: "Law"},
			Profile{CompanyName: "New", Sector: "Unknown"},
			Profile{CompanyName: "New", Sector: "Law"},
		},
		{"keeps over blank", Profile{Email: "a@b.cd"}, Profile{Email: "  "}, Profile{Email: "a@b.cd"}},
		{
			"raises the status, and the source with it",
			Profile{Status: Partial, Source: "reveal"},
			Profile{Status: Completed, Source: "snitcher"},
			Profile{Status: Completed, Source: "snitcher"},
		},
		{
			"never lowers the status",
			Profile{Status: Completed, Source: "cache"},
			Profile{Status: Failed, Source: "snitcher"},
			Profile{Status: Completed, Source: "cache"},
		},
		{
			"an equal status keeps the source",
			Profile{Status: Partial, Source: "reveal"},
			Profile{Status: Partial, Source: "snitcher"},
			Profile{Status: Partial, Source: "reveal"},
		},
		{"failed is above nothing", Profile{}, Profile{Status: Failed}, Profile{Status: Failed}},
		{
			"what is no status does not count", Profile{Status: Failed}, Profile{Status: "not_found"},
			Profile{Status: Failed},
		},
		{"a source without a status fills a gap", Profile{}, Profile{Source: "test"}, Profile{Source: "test"}},
		{
			"unites features in order",
			Profile{FeatureList: []string{"b", "a"}},
			Profile{FeatureList: []string{"c", "a", "n/a", "d"}},
			Profile{FeatureList: []string{"b", "a", "c", "d"}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Merge(c.old, c.next)); d != "" {
				t.Error(d)
			}
		})
	}
}

// anyProfile makes profiles that look as writes do: whoever sets a status says who it is.
func anyProfile(whole bool) *rapid.Generator[Profile] {
	return rapid.Custom(func(t *rapid.T) Profile {
		text := rapid.SampledFrom([]string{"", "unknown", " N/A ", "x", "y", "z"})
		var p Profile
		for _, f := range p.texts() {
			*f.text = text.Draw(t, f.name)
		}
		p.FeatureList = rapid.SliceOfN(text, 0, 4).Draw(t, "features")
		p.Status = rapid.SampledFrom([]Status{"", Failed, Pending, Partial, Completed, "not_found"}).Draw(t, "status")
		p.Source = text.Draw(t, "source")
		if whole {
			p.Source = ""
			if p.Status.rank() >= 0 {
				p.Source = rapid.SampledFrom([]string{"cache", "reveal", "snitcher"}).Draw(t, "who")
			}
		}
		return p
	})
}

func TestMergeLaws(t *testing.T) {
	laws := map[string]func(t *rapid.T, a, b, c Profile){
		"what is merged again changes nothing": func(t *rapid.T, a, b, _ Profile) {
			once := Merge(a, b)
			same(t, once, Merge(once, b))
			same(t, once, Merge(once, once))
		},
		"nothing changes nothing": func(t *rapid.T, a, b, _ Profile) {
			merged := Merge(a, b)
			same(t, merged, Merge(merged, Profile{}))
		},
		"a status only rises": func(t *rapid.T, a, b, _ Profile) {
			if got, least := Merge(a, b).Status.rank(), max(a.Status.rank(), b.Status.rank()); got != least {
				t.Fatalf("rank %d, want %d", got, least)
			}
		},
		"nothing known is lost": func(t *rapid.T, a, b, _ Profile) {
			merged := Merge(a, b)
			for i, f := range merged.texts() {
				was := *a.texts()[i].text
				if known(was) && !known(*f.text) {
					t.Fatalf("%s: %q became %q", f.name, was, *f.text)
				}
			}
			for _, feature := range slices.Concat(a.FeatureList, b.FeatureList) {
				if known(feature) && !slices.Contains(merged.FeatureList, feature) {
					t.Fatalf("lost the feature %q", feature)
				}
			}
		},
		"no memory is shared": func(t *rapid.T, a, b, _ Profile) {
			merged, want := Merge(a, b), Merge(a, b)
			for _, list := range [][]string{a.FeatureList, b.FeatureList} {
				for i := range list {
					list[i] = "changed"
				}
			}
			same(t, want, merged)
		},
	}
	for name, law := range laws {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			p := anyProfile(false)
			law(t, p.Draw(t, "a"), p.Draw(t, "b"), p.Draw(t, "c"))
		}))
	}
	t.Run("groups do not matter", rapid.MakeCheck(func(t *rapid.T) {
		write := anyProfile(true)
		a, b, c := write.Draw(t, "a"), write.Draw(t, "b"), write.Draw(t, "c")
		same(t, Merge(Merge(a, b), c), Merge(a, Merge(b, c)))
	}))
}

func same(t *rapid.T, want, got Profile) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

// TestFields makes sure that no field of Profile is forgotten where fields are gone through.
func TestFields(t *testing.T) {
	var p Profile
	names := map[string]bool{"status": true, "source": true, "feature_list": true, "claim": true}
	for _, f := range p.texts() {
		names[f.name] = true
	}
	kind := reflect.TypeFor[Profile]()
	for f := range kind.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !names[name] {
			t.Errorf("%s is in no table", name)
		}
	}
	if kind.NumField() != len(names) {
		t.Errorf("%d fields, %d names", kind.NumField(), len(names))
	}
	data, err := json.Marshal(Profile{})
	if err != nil || string(data) != "{}" {
		t.Errorf("an empty profile is %s, %v", data, err)
	}
}

// TestShown checks that a claim completes a profile of the same company only.
func TestShown(t *testing.T) {
	claim := Profile{
		Status: Completed, Source: "reveal", CompanyName: "Oat Sisters", CompanyDomain: "oats.example", Sector: "Food",
	}
	claimed := Profile{
		Status: Partial, Source: "reveal", CompanyName: "Oat Sisters", CompanyDomain: "oats.example", Sector: "Food",
	}
	for name, c := range map[string]struct{ is, want Profile }{
		"nothing known": {Profile{Status: Failed, Email: "a@x.com"}, Merge(claimed, Profile{Email: "a@x.com"})},
		"a sector": {Profile{Status: Partial, Source: "snitcher", Sector: "Retail"}, Merge(claimed, Profile{
			Source: "snitcher", Sector: "Retail",
		})},
		"the same name":  {Profile{CompanyName: "oat sisters"}, Merge(claimed, Profile{CompanyName: "oat sisters"})},
		"another name":   {Profile{CompanyName: "Barley Hall"}, Profile{CompanyName: "Barley Hall"}},
		"another domain": {Profile{CompanyDomain: "barley.example"}, Profile{CompanyDomain: "barley.example"}},
	} {
		if name == "a sector" {
			c.want.Source = "snitcher"
		}
		c.is.Claim = claim.claim()
		if d := cmp.Diff(c.want, c.is.Shown()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestHash(t *testing.T) {
	// printf salt203.0.113.7 | sha256sum
	const want = "4a3aad4db9db41bfb3b73851578a771c891e65c91cd8d1421c8f8910bd0fcee4"
	v4 := Hash("salt", "203.0.113.7")
	if v4 != want {
		t.Errorf("got %q", v4)
	}
	if got := Hash("salt", "::ffff:203.0.113.7"); got != v4 {
		t.Error("one address in two spellings has two hashes")
	}
	if Hash("salt", "2001:DB8:0::1") != Hash("salt", "2001:db8::1") {
		t.Error("one IPv6 address in two spellings has two hashes")
	}
	if Hash("other", "203.0.113.7") == v4 {
		t.Error("the salt does not count")
	}
	if got := Hash("salt", "203.0.113.7:80"); got != "" {
		t.Errorf("what is no address has the hash %q", got)
	}
}

func TestPublic(t *testing.T) {
	for ip, want := range map[string]bool{
		"203.0.113.7": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false, "127.0.0.1": false, "::1": false,
		"169.254.1.1": false, "fe80::1%eth0": false, "fd00::1": false, "::ffff:10.0.0.1": false, "100.64.0.1": false,
		"0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "": false, "example.com": false,
		"8.8.8.8:53": false, "8.8.8": false,
	} {
		if got := (Visitor{IP: ip}).public(); got != want {
			t.Errorf("%q: public is %v, want %v", ip, got, want)
		}
	}
}
