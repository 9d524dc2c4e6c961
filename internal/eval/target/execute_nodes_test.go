package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// served is a transport that answers each request itself.
type served http.HandlerFunc

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s(recorder, r)
	return recorder.Result(), nil
}

// TestNodesOfServer holds where the nodes of a server's flow are asked for, with the headers of the turns, and what is
// no answer.
func TestNodesOfServer(t *testing.T) {
	for address, want := range map[string]string{
		"http://flows.example/execute":                  "http://flows.example/api/v1/flows/tea",
		"http://flows.example/internal/agent/test/?a=b": "http://flows.example/api/v1/flows/tea",
		"http://flows.example/prod/execute":             "http://flows.example/prod/api/v1/flows/tea",
		"http://flows.example":                          "http://flows.example/api/v1/flows/tea",
	} {
		f, _, err := load(t, Kinds(), `
targets:
  served: {kind: execute, url: "`+address+`", flow_id: tea, headers: {X-Team: blue}}
`)
		if err != nil {
			t.Fatal(err)
		}
		asked, status := "", http.StatusOK
		p := Parts{Client: &http.Client{Transport: served(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("X-Team") + " " + r.Method + " http://" + r.Host + r.URL.RequestURI()
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{}`)
		})}}
		if data, err := NodesOfServer(t.Context(), f.Targets["served"], p); err != nil || string(data) != "{}" ||
			asked != "blue GET "+want {
			t.Errorf("%s: asked %q, got %q, %v", address, asked, data, err)
		}
		status = http.StatusNotFound
		if _, err := NodesOfServer(t.Context(), f.Targets["served"], p); err == nil {
			t.Error("a server without the flow tells its nodes")
		}
	}
}
