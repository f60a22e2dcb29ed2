package serve

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// A watch ends when the server stops, even if its client does not read and so nothing more can be written.
func TestStoppingEndsAnswersThatNobodyReads(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			stopping, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				defer close(ended)
				for {
					if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
						return
					}
				}
			})
			infos := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
			server := httptest.NewUnstartedServer(filters.WithRequestInfo(withStopping(endless, stopping), infos))
			server.EnableHTTP2 = protocol == "HTTP/2.0"
			server.StartTLS()
			defer server.Close()

			watch, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/pods?watch=true", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(watch)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() // nothing of it has been read
			if response.Proto != protocol {
				t.Errorf("protocol %s", response.Proto)
			}
			stop()
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				t.Error("the answer is still being written")
			}
		})
	}
}
