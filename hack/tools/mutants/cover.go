package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v2"
)

// ledger is what of fixtures/behaviors.yaml says which behaviors must have a mutant.
type ledger struct {
	Areas []struct {
		ID, Witness string
		Finished    bool
	}
	Behaviors []struct {
		ID, Area, Level string
	}
}

// notBroken returns the must behaviors of finished areas that are not among the broken ones, in the ledger's order. Those
// that the zoo bears witness to are left out: they are rules about webhooks, and its animals are their mutants.
func notBroken(root string, broken map[string]bool) ([]string, error) {
	path := filepath.Join(root, "fixtures", "behaviors.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var l ledger
	if err := yaml.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	finished := map[string]bool{}
	for _, area := range l.Areas {
		finished[area.ID] = area.Finished && area.Witness != "zoo"
	}
	var missing []string
	for _, b := range l.Behaviors {
		if finished[b.Area] && b.Level == "must" && !broken[b.ID] {
			missing = append(missing, b.ID)
		}
	}
	return missing, nil
}
