package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// objects is how many config maps of half a kilobyte the larger benchmarks have.
const objects = 10_000

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

// median is less disturbed than the mean by what else a machine is doing.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkExec measures from the execution of the program to its answer to the first create.
func BenchmarkExec(b *testing.B) {
	for _, s := range subjects {
		b.Run("server="+s.name, func(b *testing.B) {
			if s.name == "gatehouse" {
				if _, err := gatehouseBinary(); err != nil { // is not to be measured
					b.Fatal(err)
				}
			}
			var times, cpu []time.Duration
			for b.Loop() {
				begin := time.Now()
				started, client := run(b, s.start)
				if err := firstCreate(b.Context(), client); err != nil {
					b.Error(err)
				}
				times = append(times, time.Since(begin))
				b.StopTimer()
				if used, err := started.usage(); err != nil {
					b.Log(err)
				} else {
					cpu = append(cpu, used.cpu)
				}
				if err := started.stop(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			note("exec to first create", s.name, milliseconds(median(times)))
			if len(cpu) > 0 {
				b.ReportMetric(milliseconds(median(cpu)), "cpu-ms")
				note("its processor time", s.name, milliseconds(median(cpu)))
			}
		})
	}
}

// BenchmarkServer measures a server in processes of its own: creates, its memory, the list of many objects, and events to
// many watchers.
func BenchmarkServer(b *testing.B) {
	for _, s := range subjects {
		b.Run("server="+s.name, func(b *testing.B) {
			started, client := run(b, s.start)
			defer func() {
				if err := started.stop(); err != nil {
					b.Error(err)
				}
			}()
			if err := firstCreate(b.Context(), client); err != nil {
				b.Fatal(err)
			}
			noteMemory(b, started, "resident, idle", s.name)
			b.Run("create", func(b *testing.B) {
				namespace := makeNamespace(b, client)
				each := measure(b, started, "per create", s.name, func() {
					if _, err := client.CoreV1().ConfigMaps(namespace).Create(b.Context(), bulk(), metav1.CreateOptions{}); err != nil {
						b.Fatal(err)
					}
				})
				note("creates, one by one", s.name, 1/each.Seconds())
			})
			b.Run("watch", func(b *testing.B) { benchmarkWatch(b, client, s.name) })
			namespace := makeNamespace(b, client)
			if err := fill(b.Context(), client, namespace, objects, 8); err != nil {
				b.Fatal(err)
			}
			noteMemory(b, started, "resident, 10^4 objects", s.name)
			b.Run("list", func(b *testing.B) {
				each := measure(b, started, "per list", s.name, func() {
					body, err := client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("configmaps").DoRaw(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(body)))
				})
				note("list of 10^4 objects", s.name, milliseconds(each))
			})
		})
	}
}

// measure runs an operation and returns the median of how long it takes. It notes the processor time that it costs the
// server, which says more than the time on a machine that has other things to do.
func measure(b *testing.B, s *subject, what, subject string, operation func()) time.Duration {
	b.Helper()
	before, usageErr := s.usage()
	var times []time.Duration
	for b.Loop() {
		begin := time.Now()
		operation()
		times = append(times, time.Since(begin))
	}
	after, err := s.usage()
	if err = errors.Join(usageErr, err); err != nil {
		b.Log(err)
	} else {
		cpu := milliseconds(after.cpu-before.cpu) / float64(len(times))
		b.ReportMetric(cpu, "cpu-ms")
		note("processor time "+what, subject, cpu)
	}
	return median(times)
}

func noteMemory(b *testing.B, s *subject, name, subject string) {
	b.Helper()
	used, err := s.usage()
	if err != nil {
		b.Logf("%s: %v", name, err)
		return
	}
	note(name, subject, megabytes(used.resident))
}

// benchmarkWatch measures how long it takes until 100 watchers have seen 1,000 creates each.
func benchmarkWatch(b *testing.B, client *kubernetes.Clientset, subject string) {
	const watchers, events = 100, 1000
	for b.Loop() {
		b.StopTimer()
		namespace := makeNamespace(b, client)
		var watching errgroup.Group
		for range watchers {
			stream, err := client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("configmaps").
				VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Stream(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			watching.Go(func() error {
				defer stream.Close() // all that matters has been read
				lines := bufio.NewReader(stream)
				for range events { // each is a line
					if _, err := lines.ReadSlice('\n'); err != nil {
						return err
					}
				}
				return nil
			})
		}
		b.StartTimer()
		// One after the other, because a kube-apiserver ends watches that do not keep up.
		if err := fill(b.Context(), client, namespace, events, 1); err != nil {
			b.Fatal(err)
		}
		if err := watching.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	note("events to 100 watchers", subject, watchers*events*float64(b.N)/b.Elapsed().Seconds())
}

// fill creates config maps, by some writers at once.
func fill(ctx context.Context, client kubernetes.Interface, namespace string, count, writers int) error {
	var writing errgroup.Group
	for writer := range writers {
		writing.Go(func() error {
			for range (count + writer) / writers {
				if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, bulk(), metav1.CreateOptions{}); err != nil {
					return fmt.Errorf("filling namespace %s: %w", namespace, err)
				}
			}
			return nil
		})
	}
	return writing.Wait()
}

// bulk is what there are many of.
func bulk() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
		Data:       map[string]string{"key": strings.Repeat("value ", 85)},
	}
}

func makeNamespace(b *testing.B, client kubernetes.Interface) string {
	b.Helper()
	made, err := client.CoreV1().Namespaces().Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return made.Name
}
