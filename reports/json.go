package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	kjson "sigs.k8s.io/json"
)

// WriteJSON writes report.json.
func WriteJSON(w io.Writer, r Report) error {
	data, err := marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// ReadJSON reads what WriteJSON wrote. The name, such as the file's, begins every error. It refuses another version of
// the format, fields that it does not know, and counts or verdicts that do not follow from the results.
func ReadJSON(name string, data []byte) (Report, error) {
	r, err := readJSON(data)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func readJSON(data []byte) (Report, error) {
	var head struct {
		SchemaVersion *int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Report{}, locate(data, err)
	}
	switch {
	case head.SchemaVersion == nil:
		return Report{}, errors.New("not a report of Gatehouse: it has no schemaVersion")
	case *head.SchemaVersion != SchemaVersion:
		return Report{}, fmt.Errorf("schemaVersion is %d, and this Gatehouse reads %d", *head.SchemaVersion, SchemaVersion)
	}
	var r Report
	strict, err := kjson.UnmarshalStrict(data, &r)
	if err := errors.Join(append(strict, err)...); err != nil {
		return Report{}, err
	}
	if err := checkWords(r); err != nil {
		return Report{}, err
	}
	if err := checkJudgement(r); err != nil {
		return Report{}, err
	}
	return r, nil
}

// locate adds the line and column to an error of encoding/json.
func locate(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	var offset int64
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mistyped):
		offset = mistyped.Offset
	default:
		return err
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// checkWords refuses words outside the closed lists of the format.
func checkWords(r Report) error {
	var errs []error
	for i, b := range r.Behaviors {
		at := fmt.Sprintf("behaviors[%d]", i)
		errs = append(errs, checkWord(at+".level", b.Level), checkWord(at+".kind", b.Kind))
	}
	for i, result := range r.Results {
		at := fmt.Sprintf("results[%d]", i)
		errs = append(errs, checkWord(at+".outcome", result.Outcome))
		for j, d := range result.Decided {
			errs = append(errs, checkWord(fmt.Sprintf("%s.decided[%d].ruling", at, j), d.Ruling))
		}
		if result.Cause != "" {
			errs = append(errs, checkWord(at+".cause", result.Cause))
		}
	}
	return errors.Join(errs...)
}

// word is a string of a closed list.
type word interface {
	~string
	Values() []string
}

func checkWord[W word](path string, w W) error {
	if slices.Contains(w.Values(), string(w)) {
		return nil
	}
	return fmt.Errorf("%s: %q is none of %q", path, w, w.Values())
}

// checkJudgement refuses a report that is not what its own results give.
func checkJudgement(r Report) error {
	again := assemble(r.run())
	if again.Verdict != r.Verdict || again.ExitStatus != r.ExitStatus {
		return fmt.Errorf("the verdict is %q with exit status %d, but its results give %q with %d",
			r.Verdict, r.ExitStatus, again.Verdict, again.ExitStatus)
	}
	for i, b := range again.Behaviors {
		if was := r.Behaviors[i]; was.Verdict != b.Verdict {
			return fmt.Errorf("behaviors[%d].verdict: behavior %s is %q, but its cases give %q", i, b.ID, was.Verdict, b.Verdict)
		}
	}
	before, err := marshal(r)
	if err != nil {
		return err
	}
	after, err := marshal(again)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return errors.New("its counts, reasons or order do not follow from its results")
	}
	return nil
}

// marshal returns the text of report.json. The encoder writes a byte that is not UTF-8 as an escaped U+FFFD but the
// character itself as it is, so a report that has one is encoded again from what a reader would see.
func marshal(r Report) ([]byte, error) {
	data, err := encode(r)
	if err != nil || !bytes.Contains(data, []byte(`\ufffd`)) {
		return data, err
	}
	var seen Report
	if err := json.Unmarshal(data, &seen); err != nil {
		return nil, err
	}
	return encode(seen)
}

func encode(r Report) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return out.Bytes(), nil
}
