package langfusetest

import (
	"fmt"
	"net/http"
)

// RunItem is an item of a run.
type RunItem struct{ Run, ItemID, TraceID, ObservationID string }

// RunItems returns the items of all runs of version 3 in the order in which they were added.
func (s *Server) RunItems() []RunItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []RunItem
	for _, o := range s.runItems {
		observation, _ := o["observationId"].(string)
		list = append(list, RunItem{
			o["datasetRunName"].(string), o["datasetItemId"].(string), o["traceId"].(string), observation,
		})
	}
	return list
}

func (s *Server) addRunItem(in input) (int, any) {
	item := find(s.items, "id", in.body["datasetItemId"])
	if item == nil || item["status"] != "ACTIVE" {
		return missing("Dataset item")
	}
	if in.body["traceId"] == nil {
		return missing("Trace")
	}
	at := s.moment()
	id := fmt.Sprintf("run-%s-%s", item["datasetId"], in.body["runName"])
	added := object{
		"id": fmt.Sprintf("run-item-%d", s.seconds), "datasetRunId": id, "datasetRunName": in.body["runName"],
		"datasetItemId": item["id"], "traceId": in.body["traceId"], "observationId": in.body["observationId"],
		"createdAt": at, "updatedAt": at,
	}
	if s.four() { // an answer for old clients, and no more
		return http.StatusOK, added
	}
	s.runItems = append(s.runItems, added)
	return http.StatusOK, added
}
