package natsconn

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// MaxResult bounds the JSON of one result, in bytes.
const MaxResult = 64 << 20

// ErrTooLarge says that a result has more than MaxResult bytes.
var ErrTooLarge = errors.New("the result is larger than 64 MB")

// Return is what became of a job, as the leader of its run gets it.
type Return struct {
	Run  string     `json:"run"`
	Kind string     `json:"kind"`
	Key  result.Key `json:"key"`
	// Attempt counts the deliveries of the job, Worker is who held it; both are empty where nobody did.
	Attempt   int       `json:"attempt,omitempty"`
	Worker    string    `json:"worker,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// Record is the result. Without one, Fault says why there is none and will be none.
	Record json.RawMessage `json:"record,omitempty"`
	Fault  string          `json:"fault,omitempty"`
	// Tries are the deliveries that came to nothing, in order.
	Tries []Try `json:"tries,omitempty"`
	// Object is where the record is, when it is too large for a message.
	Object string `json:"object,omitempty"`
}

// Try is a delivery of a job that came to nothing.
type Try struct {
	// Delivery counts from 1.
	Delivery int `json:"delivery"`
	// Worker is empty and At zero where they are not known.
	Worker string    `json:"worker,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Lost is true when the worker was not heard of again; else Why says why it gave the job up.
	Lost bool   `json:"lost,omitempty"`
	Why  string `json:"why,omitempty"`
}
