package langfusetest

import (
	"maps"
	"net/http"
)

// Scores returns the scores as they were sent, in the order in which they came; one that came again stands where it
// came first.
func (s *Server) Scores() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []map[string]any
	for _, o := range s.scores {
		list = append(list, maps.Clone(o))
	}
	return list
}

func (s *Server) createScore(in input) (int, any) {
	value, isNumber := in.body["value"].(float64)
	kind := in.body["dataType"]
	switch {
	case kind == "BOOLEAN" && (!isNumber || value != 0 && value != 1), kind == "NUMERIC" && !isNumber,
		kind == "CATEGORICAL" && isNumber:
		return http.StatusBadRequest, object{
			"message": "Invalid request data",
			"error":   []object{{"message": "value does not fit dataType", "path": []any{"value"}}},
		}
	}
	if old := find(s.scores, "id", in.body["id"]); old != nil {
		clear(old)
		maps.Copy(old, in.body)
	} else {
		s.scores = append(s.scores, in.body)
	}
	return http.StatusOK, object{"id": in.body["id"]}
}
