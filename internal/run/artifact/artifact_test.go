package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		data string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"aé", 2, "a"},
		{"aé", 3, "aé"},
		{"a😀", 4, "a"},
		{"a[redacted KEY]b", 15, "a[redacted KEY]"},
		{"a[redacted KEY]b", 14, "a"},
		{"a[redacted KEY]b", 2, "a"},
		{"a[redacted KEY]b", 8, "a"},
		{"a[b]c[d", 6, "a[b]c"},
		{"a[bcdef", 4, "a[bc"},
		{"\xff\xff\xff\xff\xff", 3, "\xff\xff\xff"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80"},
	} {
		got, truncated := cut([]byte(c.data), c.most)
		if string(got) != c.want || truncated != (len(c.data) > c.most) {
			t.Errorf("%q at %d: %q, %v", c.data, c.most, got, truncated)
		}
	}
}

// TestNoHalfOfASecret cuts texts with a secret at every place near the end, in every form, and finds no part of it and
// no part of its mask.
func TestNoHalfOfASecret(t *testing.T) {
	const secret = "Zq7/Zq8\"Zq9\\ZqA+ZqB"
	mask := redact.New([]string{"MY_TOKEN=" + secret}).Private().Bytes
	random := rand.New(rand.NewPCG(1, 2))
	for _, form := range []string{
		secret, hex.EncodeToString([]byte(secret)), "WnE3L1pxOCJacTlcWnFBK1pxQg==", "Zq7%2FZq8%22Zq9%5CZqA%2BZqB",
		`Zq7\/Zq8\"Zq9\\ZqA+ZqB`, "Zq7/Zq8&quot;Zq9\\ZqA+ZqB",
	} {
		for at := 0; at < 80; at += 1 + random.IntN(8) {
			place := kept{}
			data := strings.Repeat("x y ", MaxBytes/4-10)
			data = data[:len(data)-random.IntN(4)] + strings.Repeat("-", at) + " " + form + " " +
				strings.Repeat("z ", 100)
			a := New(place, MaxRun, func(text string) { t.Error(text) }).keepOne(t, data, mask)
			got := string(place[a.SHA256])
			if len(got) > MaxBytes || a.Bytes != int64(len(got)) || !a.Truncated {
				t.Fatalf("%+v of %d bytes", a, len(got))
			}
			end := strings.TrimRight(got[len(got)-200:], "z ")
			if !strings.HasSuffix(end, "[redacted MY_TOKEN]") && !strings.HasSuffix(end, "-") &&
				!strings.HasSuffix(end, "y") {
				t.Fatalf("%s at %d: …%s", form, at, end)
			}
		}
	}
}

// kept is a place in memory.
type kept map[string][]byte

func (k kept) Put(_ context.Context, sha256 string, data []byte) error {
	k[sha256] = data
	return nil
}

func (k *Writer) keepOne(t *testing.T, data string, mask func([]byte) []byte) result.Artifact {
	return k.Store(t.Context(), collect.Piece{Turn: 1, Kind: "prompt", Data: []byte(data)}, mask)
}

func plain(data []byte) []byte { return data }

func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		place := &failing{kept: kept{}}
		k := New(place, 25, func(text string) { told = append(told, text) })
		k.now = time.Now
		keep := func(data string) bool { return k.keepOne(t, data, plain).SHA256 != "" }
		k.Before(hashOf("earlier"), 5)
		place.err = errors.New("no space left")
		if keep("lost") || keep("lost too") {
			t.Error("nothing was kept, and something is named")
		}
		place.err = nil
		if keep("lost") { // not tried again so soon
			t.Error("a place that failed was tried at once")
		}
		time.Sleep(awhile)
		first, again := keep("0123456789"), keep("0123456789")
		if !first || !again || !keep("earlier") || place.puts != 2 {
			t.Errorf("kept %t and %t with %d puts", first, again, place.puts)
		}
		if keep("01234567890") || keep("x") { // then nothing more is kept
			t.Error("more is kept than fits")
		}
		if !keep("0123456789") {
			t.Error("what is kept is named no more")
		}
		want := []string{
			"an artifact could not be kept, and others may not be: no space left",
			ErrFull.Error(),
		}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("warnings mismatch (-want +got):\n%s", d)
		}
	})
}

// TestKeeperCounts holds that bytes which many conversations keep at once count once.
func TestKeeperCounts(t *testing.T) {
	k := New(Folder{Dir: t.TempDir()}, 1000, func(string) {})
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { k.keepOne(t, "0123456789", plain) })
	}
	group.Wait()
	if k.used != 10 {
		t.Errorf("%d bytes are counted", k.used)
	}
}

func hashOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

type failing struct {
	kept
	mu   sync.Mutex
	err  error
	puts int
}

func (f *failing) Put(ctx context.Context, sha256 string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.puts++; f.err != nil {
		return f.err
	}
	return f.kept.Put(ctx, sha256, data)
}

func TestFolder(t *testing.T) {
	f := Folder{Dir: t.TempDir() + "/a/b"}
	if err := f.Each(func(string, int64) { t.Error("an empty folder has artifacts") }); err != nil {
		t.Error(err)
	}
	if _, err := f.Get(t.Context(), hashOf("x")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	for range 2 {
		if err := f.Put(t.Context(), hashOf("x"), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Get(t.Context(), hashOf("x")); string(got) != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"../" + hashOf("x"), "", "x", strings.ToUpper(hashOf("x")), hashOf("x") + "\n"} {
		if _, err := f.Get(t.Context(), name); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
		if f.Put(t.Context(), name, []byte("x")) == nil || f.Delete(t.Context(), name) != nil {
			t.Errorf("%q is no hash", name)
		}
	}
	for range 2 {
		if err := f.Delete(t.Context(), hashOf("x")); err != nil {
			t.Error(err)
		}
	}
}
