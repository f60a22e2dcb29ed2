package fieldschema

import ("testing"; "time")

func BenchmarkParser(b *testing.B) {
	for b.Loop() {
		if _, err := parser(); err != nil { b.Fatal(err) }
	}
}
func TestP(t *testing.T) { s := time.Now(); if _, err := parser(); err != nil {t.Fatal(err)}; t.Log(time.Since(s)) }
