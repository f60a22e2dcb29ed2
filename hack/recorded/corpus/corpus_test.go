package corpus

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLoad(t *testing.T) {
	cases, err := Load(fstest.MapFS{
		"b.yaml": {Data: []byte("- {name: named, create: {metadata: {generateName: x-}}, then: [{patch: {a: b}}]}\n")},
		"a.yaml": {Data: []byte("- {name: bare, create: {kind: Pod}}\n")},
		"a.txt":  {Data: []byte("no manifest")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{Name: "a/bare", Create: object{"kind": "Pod", "metadata": object{"name": "probe"}}},
		{Name: "b/named", Create: object{"metadata": object{"generateName": "x-"}}, Then: []Step{{Patch: object{"a": "b"}}}},
	}
	if diff := cmp.Diff(want, cases); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, test := range map[string]struct{ file, problem string }{
		"an unknown field":          {"- {name: a, crate: {}}", "unknown field"},
		"a case that does nothing":  {"- {name: a}", "creates nothing"},
		"two cases of one name":     {"- {name: a, create: {}}\n- {name: a, create: {}}", "two cases f/a"},
		"a step that does nothing":  {"- {name: a, create: {}, then: [{}]}", "step 1: no request"},
		"a step that does too much": {"- {name: a, create: {}, then: [{patch: {}, apply: {}}]}", "step 1: both patch and apply"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{"f.yaml": {Data: []byte(test.file)}})
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, want one with %q", err, test.problem)
			}
		})
	}
}

func TestComparable(t *testing.T) {
	const uid, other = "0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002"
	known := newSeen(Case{
		Create: object{"metadata": object{"generateName": "job-", "ownerReferences": []any{object{"uid": other}}},
			"spec": object{"at": "2020-01-02T03:04:05Z", "clusterIP": "10.0.0.1", "nodePort": float64(30001)}},
		Then: []Step{{Patch: object{"spec": object{"address": "10.0.0.2"}}}},
	})
	got := known.comparable(object{
		"metadata": object{
			"generateName": "job-", "name": "job-x7k2p", "uid": uid, "resourceVersion": "17", "creationTimestamp": "2026-11-30T05:00:00Z",
			"ownerReferences": []any{object{"uid": other}},
			"managedFields":   []any{object{"manager": "b", "operation": "Update"}, object{"manager": "a", "operation": "Update"}},
		},
		"spec": object{
			"at": "2020-01-02T03:04:05Z", "clusterIP": "10.0.0.1", "address": "10.0.0.2", "made": "10.0.0.3", "nodePort": float64(30001),
			"healthCheckNodePort": float64(30002), "text": "pod job-x7k2p of " + uid,
		},
	})
	want := object{
		"metadata": object{
			"generateName": "job-", "name": "job-${suffix}", "uid": "${uid}", "resourceVersion": "${resourceVersion}", "creationTimestamp": "${time}",
			"ownerReferences": []any{object{"uid": other}},
			"managedFields":   []any{object{"manager": "a", "operation": "Update"}, object{"manager": "b", "operation": "Update"}},
		},
		"spec": object{
			"at": "2020-01-02T03:04:05Z", "clusterIP": "10.0.0.1", "address": "10.0.0.2", "made": "${address}", "nodePort": float64(30001),
			"healthCheckNodePort": "${port}", "text": "pod job-${suffix} of ${uid}",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparable form (-want +got):\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	status := func(code int, message string) Answer {
		return Answer{Code: code, Object: object{"message": message, "details": object{"kind": "Pod"}}}
	}
	for name, test := range map[string]struct {
		real, ours Answer
		want       []string
	}{
		"the same":       {Answer{Code: 201, Object: object{"a": "b"}}, Answer{Code: 201, Object: object{"a": "b"}}, nil},
		"one refuses":    {status(422, "bad"), Answer{Code: 201, Object: object{}}, []string{"code"}},
		"other messages": {status(422, "bad"), status(422, "worse"), []string{"message"}},
		"other details":  {status(422, "bad"), Answer{Code: 422, Object: object{"message": "bad"}}, []string{"details"}},
		"warnings":       {Answer{Code: 200, Warnings: []string{"beware"}}, Answer{Code: 200}, []string{"warnings"}},
		"fields": {
			Answer{Code: 200, Object: object{"spec": object{"ports": []any{object{"name": "a"}}, "x.y/z": "1"}}},
			Answer{Code: 200, Object: object{"spec": object{"ports": []any{object{"name": "b"}}, "more": "2"}}},
			[]string{"spec.more", "spec.ports[0].name", "spec[x.y/z]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range Compare(test.real, test.ours) {
				got = append(got, d.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnexplained(t *testing.T) {
	known, err := ReadKnown([]byte(`
- reason: they count otherwise
  at: [{case: pods/*, field: "metadata.generation"}, {case: gone/one}]
- reason: whatever
  at: [{step: 2 patch}]
`))
	if err != nil {
		t.Fatal(err)
	}
	here := Difference{Case: "pods/a", Step: "1 create", Field: "spec.nodeName"}
	unknown, gone := Unexplained([]Difference{
		{Case: "pods/a", Step: "1 create", Field: "metadata.generation"},
		{Case: "services/a", Step: "2 patch", Field: "spec"},
		here,
	}, known)
	if diff := cmp.Diff([]Difference{here}, unknown); diff != "" {
		t.Errorf("unknown differences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Place{{Case: "gone/one"}}, gone); diff != "" {
		t.Errorf("places without a difference (-want +got):\n%s", diff)
	}
}

func TestRecording(t *testing.T) {
	answers := []Answer{
		{Case: "a/b", Step: "1 create", Code: 201, Warnings: []string{"<beware>"}, Object: object{"n": float64(1)}},
		{Case: "a/b", Step: "2 patch", Code: 422, Object: object{"message": "no"}},
	}
	var recording strings.Builder
	if err := Write(&recording, answers); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(recording.String(), "\n"); lines != len(answers) {
		t.Errorf("%d lines for %d answers", lines, len(answers))
	}
	got, err := Read([]byte(recording.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answers, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
