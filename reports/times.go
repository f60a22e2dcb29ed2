package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// timesFile is a file of how long cases took: report.json as far as it says so.
type timesFile struct {
	SchemaVersion int        `json:"schemaVersion"`
	Results       []timeOfID `json:"results"`
}

type timeOfID struct {
	ID string `json:"id"`
	// Duration is in nanoseconds; 0 for a case that was not run.
	Duration time.Duration `json:"duration"`
}

// WriteTimes writes how long the cases of a report took: a file much smaller than report.json, to be kept for balancing
// later runs. ReadTimes reads it.
func WriteTimes(w io.Writer, r Report) error {
	file := timesFile{SchemaVersion: SchemaVersion, Results: []timeOfID{}}
	for _, result := range r.Results {
		if result.Outcome != NotRun && result.Duration > 0 {
			file.Results = append(file.Results, timeOfID{result.ID, result.Duration})
		}
	}
	data, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return fmt.Errorf("encode the times: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// ReadTimes reads how long cases took from a report.json or from what WriteTimes wrote, by their ids. The name, such as
// the file's, begins every error.
func ReadTimes(name string, data []byte) (map[string]time.Duration, error) {
	var file timesFile
	err := locate(data, json.Unmarshal(data, &file))
	switch {
	case err != nil:
	case file.SchemaVersion == 0:
		err = errors.New("neither a report of Gatehouse nor times of one: it has no schemaVersion")
	case file.SchemaVersion != SchemaVersion:
		err = fmt.Errorf("schemaVersion is %d, and this Gatehouse reads %d", file.SchemaVersion, SchemaVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	times := make(map[string]time.Duration, len(file.Results))
	for i, r := range file.Results {
		if r.Duration < 0 {
			return nil, fmt.Errorf("%s: results[%d].duration: %d is negative", name, i, r.Duration)
		}
		if r.Duration > 0 {
			times[r.ID] = r.Duration
		}
	}
	return times, nil
}
