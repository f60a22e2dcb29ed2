package subject

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Files are the files below a directory: by their paths, what changes when they are written.
type Files map[string]string

// Snapshot looks at the files below a directory. At most maxFiles are looked at.
func Snapshot(dir string) (Files, error) {
	files := Files{}
	if dir == "" {
		return files, nil
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || len(files) >= maxFiles {
			return err
		}
		info, err := entry.Info()
		if os.IsNotExist(err) { // it went while we looked
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil && !entry.IsDir() {
			files[name] = fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().Format("15:04:05.000000000"))
		}
		return err
	})
	return files, err
}

const maxFiles = 10_000

// Changed names the files that were made, written or removed since.
func (f Files) Changed(now Files) []string {
	changed := map[string]bool{}
	for name, state := range now {
		if f[name] != state {
			changed[name] = true
		}
	}
	for name := range f {
		if _, there := now[name]; !there {
			changed[name] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}
