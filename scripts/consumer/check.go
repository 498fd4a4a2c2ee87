package main

import (
	"fmt"
	"slices"
	"strings"
)

// consumed is what came along with a module and what may.
type consumed struct {
	// folder is the module's.
	folder string
	// modules and packages are those of a program that uses the module.
	modules, packages []string
	// baseModules and basePackages are those of a program that uses what the
	// module is for (its framework, its Redis client) without it.
	baseModules, basePackages []string
	// others are the modules that other modules of the repository are for.
	others []string
}

// faults returns what must not have come along, a line each.
func (c *consumed) faults() []string {
	var found []string
	for _, other := range c.others {
		if slices.Contains(c.modules, other) && !slices.Contains(c.baseModules, other) {
			found = append(found, fmt.Sprintf("%s: brings the module %s", c.folder, other))
		}
		for _, name := range c.packages {
			if (name == other || strings.HasPrefix(name, other+"/")) && !slices.Contains(c.basePackages, name) {
				found = append(found, fmt.Sprintf("%s: links the package %s", c.folder, name))
			}
		}
	}
	for _, name := range c.packages {
		if (name == "testing" || strings.HasPrefix(name, "testing/") || strings.HasSuffix(name, "/storetest") || strings.HasSuffix(name, "/adaptertest")) &&
			!slices.Contains(c.basePackages, name) {
			found = append(found, fmt.Sprintf("%s: links %s, which its framework alone does not", c.folder, name))
		}
	}
	return found
}
