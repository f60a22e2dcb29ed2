package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Write writes answers as JSON, one a line.
func Write(w io.Writer, answers []Answer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, answer := range answers {
		if err := encoder.Encode(answer); err != nil {
			return fmt.Errorf("answer to %s, %s: %w", answer.Case, answer.Step, err)
		}
	}
	return nil
}

// Read reads what Write wrote.
func Read(data []byte) ([]Answer, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var answers []Answer
	for {
		var answer Answer
		switch err := decoder.Decode(&answer); {
		case errors.Is(err, io.EOF):
			return answers, nil
		case err != nil:
			return nil, fmt.Errorf("recorded answers: %w", err)
		}
		answers = append(answers, answer)
	}
}
