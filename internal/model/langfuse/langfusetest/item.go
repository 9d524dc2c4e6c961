package langfusetest

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"
)

// AddItem creates an item, or replaces it. The values are any that encoding/json writes.
func (s *Server) AddItem(dataset, id string, in, expected, metadata any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = slices.DeleteFunc(s.items, func(o object) bool { return o["id"] == id })
	item := s.newItem(dataset, id)
	item["input"], item["expectedOutput"], item["metadata"] = in, expected, metadata
	s.items = append(s.items, item)
}

func (s *Server) newItem(dataset, id string) object {
	at := s.moment()
	return object{
		"id": id, "status": "ACTIVE", "input": nil, "expectedOutput": nil, "metadata": nil, "sourceTraceId": nil,
		"sourceObservationId": nil, "datasetId": "ds-" + dataset, "datasetName": dataset, "createdAt": at,
		"updatedAt": at, "mediaReferences": []any{},
	}
}

// Archive archives an item.
func (s *Server) Archive(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	find(s.items, "id", id)["status"] = "ARCHIVED"
}

// RemoveItem deletes an item, as somebody else might.
func (s *Server) RemoveItem(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(id)
}

func (s *Server) remove(id string) bool {
	item := find(s.items, "id", id)
	if item == nil {
		return false
	}
	item["removed"] = s.moment()
	s.removed = append(s.removed, item)
	s.items = slices.DeleteFunc(s.items, func(o object) bool { return o["id"] == id })
	return true
}

// Item returns an item as it would be answered, or nil.
func (s *Server) Item(id string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(find(s.items, "id", id))
}

// Items returns the ids of a dataset's items, the oldest first.
func (s *Server) Items(dataset string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []string{}
	for _, o := range s.items {
		if o["datasetName"] == dataset {
			ids = append(ids, o["id"].(string))
		}
	}
	return ids
}

func (s *Server) listItems(in input) (int, any) {
	dataset := in.param("datasetName")
	if dataset != "" && find(s.datasets, "name", dataset) == nil {
		return missing("Dataset")
	}
	var list []object
	for _, o := range s.at(in.param("version")) {
		if dataset == "" || o["datasetName"] == dataset {
			list = append(list, o)
		}
	}
	return paged(in, newest(list))
}

// at returns the items of a moment; updates are not kept, only what was added and removed.
func (s *Server) at(version string) []object {
	moment, err := time.Parse(time.RFC3339Nano, version)
	if err != nil {
		return s.items
	}
	var list []object
	for _, o := range append(slices.Clone(s.items), s.removed...) {
		created, _ := time.Parse(time.RFC3339, o["createdAt"].(string))
		gone, removed := o["removed"].(string)
		ended, _ := time.Parse(time.RFC3339, gone)
		if !created.After(moment) && (!removed || ended.After(moment)) {
			o = maps.Clone(o)
			delete(o, "removed")
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b object) int {
		return cmp.Compare(a["createdAt"].(string), b["createdAt"].(string))
	})
	return list
}

func (s *Server) getItem(in input) (int, any) {
	if item := find(s.items, "id", in.path("id")); item != nil {
		return http.StatusOK, item
	}
	return missing("Dataset item")
}

func (s *Server) deleteItem(in input) (int, any) {
	if !s.remove(in.path("id")) {
		return missing("Dataset item")
	}
	return http.StatusOK, object{"message": "Dataset item successfully deleted"}
}

func (s *Server) putItem(in input) (int, any) {
	dataset, _ := in.body["datasetName"].(string)
	id, _ := in.body["id"].(string)
	if find(s.datasets, "name", dataset) == nil {
		return missing("Dataset")
	}
	item := find(s.items, "id", id)
	switch {
	case item == nil:
		item = s.newItem(dataset, id)
		s.items = append(s.items, item)
	case item["datasetName"] != dataset:
		return http.StatusNotFound, object{
			"message": "The dataset item with id " + id + " already exists in a dataset other than " + dataset,
		}
	}
	overwrite(item, in.body, "input", "expectedOutput", "metadata", "sourceTraceId", "sourceObservationId", "status")
	item["updatedAt"] = s.moment()
	return http.StatusOK, item
}
