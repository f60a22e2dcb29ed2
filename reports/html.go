package reports

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"sync"
)

//go:embed html
var htmlFiles embed.FS

// WriteHTML writes one or several reports, such as those of several targets or versions side by side, as one HTML page
// that needs nothing else: no network, and no script to be read. A script adds filters, whose state is the page's URL.
func WriteHTML(w io.Writer, all ...Report) error {
	if len(all) == 0 {
		return errors.New("no report to write as HTML")
	}
	t, err := htmlTemplate()
	if err != nil {
		return err
	}
	page, err := newHTMLPage(all)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "page.tmpl", page); err != nil {
		return fmt.Errorf("writing HTML: %w", err)
	}
	_, err = out.WriteTo(w)
	return err
}

var htmlTemplate = sync.OnceValues(func() (*template.Template, error) {
	return template.ParseFS(htmlFiles, "html/*.tmpl")
})

// htmlAsset returns a file that the page holds.
func htmlAsset(name string) (string, error) {
	data, err := htmlFiles.ReadFile("html/" + name)
	return string(data), err
}
