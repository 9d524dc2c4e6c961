package langfusetest

import (
	"net/http"
	"slices"
)

// AddDataset creates a dataset.
func (s *Server) AddDataset(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.datasets = append(s.datasets, s.newDataset(name))
}

func (s *Server) newDataset(name string) object {
	at := s.moment()
	return object{
		"id": "ds-" + name, "name": name, "description": nil, "metadata": nil, "inputSchema": nil,
		"expectedOutputSchema": nil, "projectId": "project", "createdAt": at, "updatedAt": at,
	}
}

// find returns the first object of a list that has a value, or nil.
func find(list []object, key string, value any) object {
	for _, o := range list {
		if o[key] == value {
			return o
		}
	}
	return nil
}

// newest returns a list in the order of Langfuse's lists.
func newest(list []object) []object {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func (s *Server) listDatasets(in input) (int, any) { return paged(in, newest(s.datasets)) }

func (s *Server) getDataset(in input) (int, any) {
	if d := find(s.datasets, "name", in.path("datasetName")); d != nil {
		return http.StatusOK, d
	}
	return missing("Dataset")
}

func (s *Server) createDataset(in input) (int, any) {
	name, _ := in.body["name"].(string)
	d := find(s.datasets, "name", name)
	if d == nil {
		d = s.newDataset(name)
		s.datasets = append(s.datasets, d)
	}
	d["updatedAt"] = s.moment()
	overwrite(d, in.body, "description", "metadata")
	return http.StatusOK, d
}

// overwrite takes over what a request says, and leaves what it does not.
func overwrite(o, from object, keys ...string) {
	for _, key := range keys {
		if value := from[key]; value != nil {
			o[key] = value
		}
	}
}
