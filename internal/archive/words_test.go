package archive_test

import (
	"testing"

	"rehearse/internal/archive"
)

// Words are found in scripts that set no blanks between them, too.
func TestWordsWithoutBlanks(t *testing.T) {
	for question, wants := range map[string]bool{"東京": true, "京東": false, "住む 東京": true, `"京に住"`: true, "order": true, "tokyo": false, "order98": false} {
		if got := archive.ParseWords(question).Fit("私は東京に住む。order東98"); got != wants {
			t.Errorf("%s fits: %t", question, got)
		}
	}
	if !archive.ParseWords("สวัส*").Fit("ขอสวัสดีครับ") {
		t.Error("a beginning in Thai")
	}
}
