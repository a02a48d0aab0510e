// Checks rule files with what `promtool check rules` runs, and the expressions of Grafana's dashboards with
// Prometheus' parser. Prints one problem in each line; exits with 1 if there is one. The modes `answers`
// (answers.go) and `cases` (cases.go) evaluate them.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	modes := map[string]func([]string) error{"answers": watchAndAnswer, "cases": runCases}
	if len(os.Args) > 2 && modes[os.Args[1]] != nil {
		if err := modes[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	problems := 0
	for _, file := range os.Args[1:] {
		for _, err := range check(file) {
			fmt.Println(err)
			problems++
		}
	}
	if problems > 0 {
		os.Exit(1)
	}
}

func check(file string) []error {
	if strings.HasSuffix(file, ".json") {
		return checkDashboard(file)
	}
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, newParser(), slog.Default())
	if len(errs) == 0 && len(groups.Groups) == 0 {
		return []error{fmt.Errorf("%s: no rules", file)}
	}
	return errs
}

func checkDashboard(file string) []error {
	text, err := os.ReadFile(file)
	if err != nil {
		return []error{err}
	}
	var dashboard any
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return []error{fmt.Errorf("%s: %w", file, err)}
	}
	expressions := collect(dashboard)
	if len(expressions) == 0 {
		return []error{fmt.Errorf("%s: no expressions", file)}
	}
	var errs []error
	for _, expression := range expressions {
		// Grafana puts a duration there.
		query := strings.ReplaceAll(expression, "$__rate_interval", "1m")
		if _, err := newParser().ParseExpr(query); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", file, expression, err))
		}
	}
	return errs
}

// newParser returns the parser that Prometheus has by default.
func newParser() parser.Parser {
	return parser.NewParser(parser.Options{})
}

// collect returns every text named `expr`, however deep.
func collect(value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if text, isText := inner.(string); isText && name == "expr" {
				found = append(found, text)
			} else {
				found = append(found, collect(inner)...)
			}
		}
	case []any:
		for _, inner := range value {
			found = append(found, collect(inner)...)
		}
	}
	return found
}
