package importer_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
)

// TestUTF16 reads what spreadsheets save as Unicode text, in either order of bytes. A half of a letter is no letter.
func TestUTF16(t *testing.T) {
	table := "session_id\ttimestamp\tsender\ttext\n" +
		strings.Repeat("s\t2026-03-01T10:00:00Z\tuser\tżółć 😀, \"why\"\n", 40_000)
	lines := `{"session_id":"s","timestamp":1,"sender":"user","text":"żółć 😀, \"why\""}` + "\n"
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, text := range []string{strings.ReplaceAll(table, `"why"`, "why"), lines} {
			store := &memory{}
			r, err := importer.Import(t.Context(), inputs(packed(order, "\ufeff"+text)), store,
				importer.Options{FlowID: "f"})
			if err != nil || r.Rejected != 0 || r.Rows != strings.Count(text, "żółć") ||
				!strings.Contains(string(store.events[len(store.events)-1].Payload), "żółć 😀") {
				t.Fatalf("%v: %+v, %v", order, r, err)
			}
		}
		halves := packed(order, "\ufeff"+lines) + string(order.AppendUint16(nil, 0xd83d)) + "\n"
		r, err := importer.Import(t.Context(), inputs(halves), &memory{}, importer.Options{FlowID: "f"})
		if err != nil || r.Used != 1 || r.RejectedBy[replay.NotJSON] != 1 {
			t.Errorf("%v: %+v, %v", order, r, err)
		}
	}
}

// packed is a text in UTF-16.
func packed(order binary.AppendByteOrder, text string) string {
	var b []byte
	for unit := range slices.Values(utf16.Encode([]rune(text))) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}
