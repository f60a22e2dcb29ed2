package serve

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/warning"
)

const (
	// maxWarningRunes is how much text the warnings of one response hold before they are cut.
	maxWarningRunes = 4096
	// maxCutWarningRunes is what each warning is cut to then.
	maxCutWarningRunes = 256
)

// withWarnings collects the warnings of a request and sends them with the header of the response. Upstream's filter
// writes into the header as the warnings come, which is safe only beneath a filter that buffers headers: a handler
// whose request has timed out may still be adding warnings while the answer is written.
func withWarnings(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		recorder := &warningRecorder{}
		req = req.WithContext(warning.WithWarningRecorder(req.Context(), recorder))
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(&warningWriter{ResponseWriter: w, recorder: recorder}), req)
	})
}

// warningRecorder keeps each distinct warning once, in order.
type warningRecorder struct {
	mu       sync.Mutex
	warnings []recordedWarning
	known    map[string]bool
}

type recordedWarning struct{ agent, text string }

var _ warning.Recorder = &warningRecorder{}

func (r *warningRecorder) AddWarning(agent, text string) {
	if text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[text] {
		return
	}
	if r.known == nil {
		r.known = make(map[string]bool)
	}
	r.known[text] = true
	r.warnings = append(r.warnings, recordedWarning{agent, text})
}

// headers returns the values of the Warning header. Text that a header cannot carry is left out. All is sent whole while
// it stays within maxWarningRunes. Once a warning crosses that, it and those before it are sent cut, and those after it
// as long as the cut ones stay below the limit.
func (r *warningRecorder) headers() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var (
		headers   []string
		total     int
		truncated bool
	)
	for i, w := range r.warnings {
		if truncated && total >= maxWarningRunes {
			break
		}
		text := w.text
		if truncated {
			text = cutWarning(text)
		}
		header, err := utilnet.NewWarningHeader(299, w.agent, text)
		if err != nil {
			continue
		}
		headers = append(headers, header)
		total += utf8.RuneCountInString(text)
		if !truncated && total > maxWarningRunes {
			truncated = true
			headers, total = cutWarnings(r.warnings[:i+1])
		}
	}
	return headers
}

// cutWarnings returns the headers of the warnings, each cut, and how much text they hold.
func cutWarnings(warnings []recordedWarning) (headers []string, total int) {
	for _, w := range warnings {
		text := cutWarning(w.text)
		if header, err := utilnet.NewWarningHeader(299, w.agent, text); err == nil {
			headers = append(headers, header)
			total += utf8.RuneCountInString(text)
		}
	}
	return headers, total
}

func cutWarning(text string) string {
	if runes := []rune(text); len(runes) > maxCutWarningRunes {
		return string(runes[:maxCutWarningRunes])
	}
	return text
}

// warningWriter adds the warnings to the header just before it is written.
type warningWriter struct {
	http.ResponseWriter
	recorder *warningRecorder
	once     sync.Once
}

var _ responsewriter.UserProvidedDecorator = &warningWriter{}

func (w *warningWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *warningWriter) addHeaders() {
	w.once.Do(func() {
		for _, header := range w.recorder.headers() {
			w.Header().Add("Warning", header)
		}
	})
}

func (w *warningWriter) WriteHeader(code int) {
	w.addHeaders()
	w.ResponseWriter.WriteHeader(code)
}

func (w *warningWriter) Write(data []byte) (int, error) {
	w.addHeaders()
	return w.ResponseWriter.Write(data)
}

func (w *warningWriter) Flush() {
	w.addHeaders()
	w.ResponseWriter.(http.Flusher).Flush()
}

func (w *warningWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}
