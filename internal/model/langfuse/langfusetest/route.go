package langfusetest

import (
	"net/http"
	"strconv"
	"strings"
)

// matchKey is under which a request's context has what it matched.
type matchKey struct{}

// matched is the handler of a request, and the request with the values of its path.
type matched struct {
	request *http.Request
	handler func(input) (int, any)
}

// route says who answers what. The patterns are the paths of the document.
func (s *Server) route() {
	for pattern, handler := range map[string]func(input) (int, any){
		"GET /api/public/health":                    s.health,
		"GET /api/public/v2/datasets":               s.listDatasets,
		"POST /api/public/v2/datasets":              s.createDataset,
		"GET /api/public/v2/datasets/{datasetName}": s.getDataset,
		"GET /api/public/dataset-items":             s.listItems,
		"POST /api/public/dataset-items":            s.putItem,
		"GET /api/public/dataset-items/{id}":        s.getItem,
		"DELETE /api/public/dataset-items/{id}":     s.deleteItem,
		"POST /api/public/dataset-run-items":        s.addRunItem,
		"POST /api/public/scores":                   s.createScore,
		"POST /api/public/otel/v1/traces":           s.takeSpans,
		"GET /api/public/sessions/{sessionId}":      s.legacy(s.getSession),
		"GET /api/public/traces":                    s.legacy(s.listTraces),
		"DELETE /api/public/traces":                 s.deleteTraces,
		"GET /api/public/traces/{traceId}":          s.legacy(s.getTrace),
		"GET /api/public/v2/observations":           s.modern(s.listObservations),
		"GET /api/public/v2/prompts/{promptName}":   s.getPrompt,
	} {
		s.mux.HandleFunc(pattern, func(_ http.ResponseWriter, r *http.Request) {
			if match, ok := r.Context().Value(matchKey{}).(*matched); ok {
				match.request, match.handler = r, handler
			}
		})
	}
}

// four reports whether the server is of version 4.
func (s *Server) four() bool { return strings.HasPrefix(s.version, "4.") }

// legacy is a handler that version 4 has no more.
func (s *Server) legacy(handler func(input) (int, any)) func(input) (int, any) {
	return func(in input) (int, any) {
		if s.four() {
			return missing("Endpoint")
		}
		return handler(in)
	}
}

// modern is a handler that version 3 does not have yet.
func (s *Server) modern(handler func(input) (int, any)) func(input) (int, any) {
	return func(in input) (int, any) {
		if !s.four() {
			return missing("Endpoint")
		}
		return handler(in)
	}
}

func (s *Server) health(input) (int, any) {
	return http.StatusOK, object{"status": "OK", "version": s.version}
}

// maxLimit is how many rows a page has at most.
const maxLimit = 100

// paged answers with a page of a list.
func paged(in input, all []object) (int, any) {
	page, limit := max(1, number(in.param("page"), 1)), min(max(1, number(in.param("limit"), 50)), maxLimit)
	from := min((page-1)*limit, len(all))
	data := append([]object{}, all[from:min(from+limit, len(all))]...)
	return http.StatusOK, object{"data": data, "meta": object{
		"page": page, "limit": limit, "totalItems": len(all), "totalPages": (len(all) + limit - 1) / limit,
	}}
}

// onward answers with a part of a list and a cursor: where to go on.
func onward(in input, all []object) (int, any) {
	from, limit := min(number(in.param("cursor"), 0), len(all)), number(in.param("limit"), 50)
	to := min(from+limit, len(all))
	meta := object{}
	if to < len(all) {
		meta["cursor"] = strconv.Itoa(to)
	}
	return http.StatusOK, object{"data": append([]object{}, all[from:to]...), "meta": meta}
}

func number(text string, without int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return without
	}
	return n
}
