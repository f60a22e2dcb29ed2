// Command served records what a kube-apiserver with default settings serves: its discovery, its OpenAPI documents, those of
// custom resources, the columns of its tables, tables of many objects, and its own roles. It is run by go generate, beside
// the packages that hold the recordings, and starts the API server and etcd that hack/envtest-assets/build makes.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

// recorders make the content of a file by its name on the command line.
var recorders = map[string]func(context.Context) ([]byte, error){
	"discovery": recordDiscovery,
	"openapi":   recordOpenAPI,
	"custom":    recordCustom,
	"columns":   recordColumns,
	"tables":    recordTables,
	"roles":     recordRoles,
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "served:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 || recorders[args[0]] == nil {
		return errors.New("usage: served discovery|openapi|custom|columns|tables|roles FILE")
	}
	data, err := recorders[args[0]](ctx)
	if err != nil {
		return fmt.Errorf("record %s: %w", args[0], err)
	}
	return os.WriteFile(args[1], data, 0o644)
}

// compress returns data as gzip has it at its smallest.
func compress(data []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return compressed.Bytes(), nil
}
