package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures/tree"
)

// Placeholders are what may stand in Run as ${NAME}.
func Placeholders() []string { return []string{"certDir", "configDir", "kubeconfig", "port"} }

// Load reads a file strictly. All that is wrong with it is reported in one error, one line each, in the form
// file:line:column: message. rules are the ids that skip may name.
func Load(path string, rules []string) (*File, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; it says what is on trial: manifests, and run or url", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the trial's file: %w", err)
	}
	return Parse(path, data, rules)
}

// Parse is Load for what has been read from path.
func Parse(path string, data []byte, rules []string) (*File, error) {
	root, problems := tree.Parse(path, data)
	if root == nil {
		return nil, problems.Err()
	}
	decoder := &tree.Decoder{Problems: problems}
	file := &File{Path: path, Dir: filepath.Dir(path)}
	decoder.Decode(root, file)
	file.Path, file.Dir = path, filepath.Dir(path)
	c := checker{file: file, root: root, rules: rules, problems: decoder.Problems}
	if len(c.problems) == 0 {
		c.check()
	}
	if err := c.problems.Err(); err != nil {
		return nil, err
	}
	return file, nil
}

// checker checks what the types do not say.
type checker struct {
	file     *File
	root     *tree.Node
	rules    []string
	problems tree.Problems
}

func (c *checker) check() {
	c.server()
	c.paths()
	c.samples()
	c.skips()
}

func (c *checker) server() {
	f := c.file
	switch {
	case f.URL == "" && f.Run == nil:
		c.problems.Addf(c.root, `"url" or "run" is missing; one of them says where the webhook's server is`)
	case f.URL != "" && f.Run != nil:
		c.problems.Addf(c.root.Get("run"), `run: "url" is given too; a server is started or there already, not both`)
	}
	if n := c.root.Get("url"); n != nil {
		if u, err := url.Parse(f.URL); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			c.problems.Addf(n, "url: got %q, want https://HOST:PORT; the paths are those of the webhook configurations", f.URL)
		}
	}
	if n := c.root.Get("ca"); n != nil && f.URL == "" {
		c.problems.Addf(n, `ca: it belongs to "url"; a server that Gatehouse starts gets its certificate from Gatehouse`)
	}
	if f.Run != nil {
		c.run(c.root.Get("run"))
	}
}

func (c *checker) run(n *tree.Node) {
	run := c.file.Run
	if len(run.Command) == 0 {
		c.problems.Addf(n.Get("command"), "command: an empty list; write the program and its arguments")
		return
	}
	for _, item := range n.Get("command").Items {
		c.placeholders(item)
	}
	if env := n.Get("env"); env != nil {
		for _, field := range env.Fields {
			c.placeholders(field.Value)
		}
	}
	if dir := n.Get("dir"); dir != nil {
		c.placeholders(dir)
	}
	for _, at := range []*tree.Node{n.Get("port"), n.Get("ready").Get("port")} {
		if at != nil && (at.Value.(int64) < 1 || at.Value.(int64) > 65535) {
			c.problems.Addf(at, "port: got %s, want a port from 1 to 65535", at.Text)
		}
	}
	if at := n.Get("ready").Get("path"); at != nil && !strings.HasPrefix(run.Ready.Path, "/") {
		c.problems.Addf(at, "path: got %q, want an absolute path such as /healthz", run.Ready.Path)
	}
	if at := n.Get("ready").Get("timeout"); at != nil {
		if d, err := time.ParseDuration(run.Ready.Timeout); err != nil || d <= 0 {
			c.problems.Addf(at, "timeout: got %q, want a duration such as 30s", run.Ready.Timeout)
		}
	}
}

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// placeholders refuses those that do not exist.
func (c *checker) placeholders(n *tree.Node) {
	for _, match := range placeholder.FindAllStringSubmatch(n.Text, -1) {
		if !slices.Contains(Placeholders(), match[1]) {
			c.problems.Addf(n, "unknown placeholder ${%s}; %s", match[1], tree.Suggest(match[1], Placeholders()))
		}
	}
}

// Expand replaces the placeholders of a text.
func Expand(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		if value, ok := values[match[2:len(match)-1]]; ok {
			return value
		}
		return match
	})
}

// paths refuses files that are not there.
func (c *checker) paths() {
	if len(c.file.Manifests) == 0 {
		c.problems.Addf(c.root.Get("manifests"), "manifests: an empty list; name the files with the webhook configurations")
	}
	for i, n := range items(c.root.Get("manifests")) {
		if c.file.Manifests[i] != "-" {
			c.exists(n)
		}
	}
	for _, list := range []*tree.Node{c.root.Get("fixtures"), c.root.Get("samples").Get("setup"), c.root.Get("samples").Get("admitted")} {
		for _, n := range items(list) {
			c.exists(n)
		}
	}
	if n := c.root.Get("ca"); n != nil {
		c.exists(n)
	}
}

func items(n *tree.Node) []*tree.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func (c *checker) exists(n *tree.Node) {
	path := c.file.Resolve(n.Text)
	info, err := os.Stat(path)
	if err != nil {
		c.problems.Addf(n, "%s: no such file or directory; paths are relative to the directory of this file", n.Text)
		return
	}
	if _, err := os.Stat(filepath.Join(path, "kustomization.yaml")); info.IsDir() && err == nil {
		c.problems.Addf(n, `%s: a directory of kustomize; write "-" here and pipe "kustomize build %s" into gatehouse, or name a file with its output`, n.Text, n.Text)
	}
}

func (c *checker) samples() {
	for i, n := range items(c.root.Get("samples").Get("refused")) {
		c.exists(n.Get("file"))
		refused := c.file.Samples.Refused[i]
		if _, err := regexp.Compile(refused.Message); err != nil {
			c.problems.Addf(n.Get("message"), "message: got %q, want a regular expression: %v", refused.Message, err)
		}
	}
}

func (c *checker) skips() {
	lines := map[string]int{}
	for i, n := range items(c.root.Get("skip")) {
		skip := c.file.Skip[i]
		rule := n.Get("rule")
		switch {
		case !slices.Contains(c.rules, skip.Rule):
			c.problems.Addf(rule, "rule: unknown rule %q; %s", skip.Rule, suggest(skip.Rule, c.rules))
		case lines[skip.Rule] != 0:
			c.problems.Addf(rule, "rule: %q is skipped at line %d already", skip.Rule, lines[skip.Rule])
		}
		lines[skip.Rule] = rule.Pos.Line
		if strings.TrimSpace(skip.Reason) == "" {
			c.problems.Addf(n.Get("reason"), "reason: it is empty; say why the webhook need not keep the rule")
		}
		if _, err := time.Parse(time.DateOnly, skip.Expires); err != nil {
			c.problems.Addf(n.Get("expires"), "expires: got %q, want a day such as 2027-01-31", skip.Expires)
		}
	}
}

// suggest names the nearest of many ids, or where they are listed.
func suggest(wrong string, known []string) string {
	if text := tree.Suggest(wrong, known); strings.HasPrefix(text, "did you mean") {
		return text
	}
	return "gatehouse behaviors --area webhook-contract lists them"
}

// Resolve makes a path of the file one of the process.
func (f *File) Resolve(path string) string {
	if path == "-" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir, path)
}

// ReadyTimeout is Run.Ready.Timeout as a duration.
func (r Run) ReadyTimeout() time.Duration {
	if d, err := time.ParseDuration(r.Ready.Timeout); err == nil {
		return d
	}
	return 30 * time.Second
}
