// The mode `cases <rules.yml> <cases.yml>`: evaluates the rules over made series, minute by minute, as Prometheus
// does. Prints one line of JSON for each case: the alerts that fired.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"go.yaml.in/yaml/v3"
)

// Series are written as in `promtool test rules`: a selector, and values such as `0+5x60`, one a minute.
type caseFile struct {
	Usual map[string]string `yaml:"usual"`
	Cases []struct {
		Name string `yaml:"name"`
		// Instead of the usual ones with the same selectors, or in addition; an empty text leaves one out.
		Series map[string]string `yaml:"series"`
	} `yaml:"cases"`
}

type outcome struct {
	Name  string   `json:"name"`
	Fired []string `json:"fired"`
}

const interval = time.Minute

func runCases(arguments []string) error {
	groups, errs := rulefmt.ParseFile(arguments[0], false, model.UTF8Validation, newParser(), nil)
	if len(errs) > 0 {
		return errs[0]
	}
	text, err := os.ReadFile(arguments[1])
	if err != nil {
		return err
	}
	var file caseFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	for _, each := range file.Cases {
		all := map[string]string{}
		for selector, values := range file.Usual {
			all[selector] = values
		}
		for selector, values := range each.Series {
			all[selector] = values
		}
		fired, err := play(groups, all)
		if err != nil {
			return fmt.Errorf("%s: %w", each.Name, err)
		}
		_ = encoder.Encode(outcome{each.Name, fired})
	}
	return nil
}

// play feeds the series minute by minute and returns the names of the alerts that fired at some time. `for` counts
// the minutes in which the condition held for any series: each case has one that does.
func play(groups *rulefmt.RuleGroups, all map[string]string) ([]string, error) {
	w := &watch{store: &memory{byLabel: map[string]*series{}}, engine: newEngine()}
	type input struct {
		labels labels.Labels
		values []float64
		isGap  []bool
	}
	var inputs []input
	minutes := 0
	for selector, values := range all {
		if values == "" {
			continue
		}
		of, sequence, err := newParser().ParseSeriesDesc(selector + " " + values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", selector, err)
		}
		next := input{labels: of}
		for _, value := range sequence {
			next.values = append(next.values, value.Value)
			next.isGap = append(next.isGap, value.Omitted)
		}
		inputs = append(inputs, next)
		minutes = max(minutes, len(sequence))
	}
	alerts := &alertStates{since: map[string]time.Time{}, fired: map[string]bool{}}
	start := time.Unix(1_700_000_000, 0)
	for minute := range minutes {
		w.last = start.Add(time.Duration(minute) * interval)
		for _, input := range inputs {
			if minute < len(input.values) && !input.isGap[minute] {
				w.store.add(input.labels, w.last.UnixMilli(), input.values[minute])
			}
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				if err := w.apply(rule, alerts); err != nil {
					return nil, err
				}
			}
		}
	}
	// Not nil, which would be null in JSON.
	names := slices.AppendSeq([]string{}, maps.Keys(alerts.fired))
	slices.Sort(names)
	return names, nil
}

// alertStates says since when the condition of each alert has held, and which alerts fired.
type alertStates struct {
	since map[string]time.Time
	fired map[string]bool
}

func (w *watch) apply(rule rulefmt.Rule, alerts *alertStates) error {
	if rule.Record != "" {
		return w.record(rule)
	}
	key := rule.Alert + rule.Expr
	holds := false
	if err := w.evaluate(rule.Expr, func(promql.Sample) { holds = true }); err != nil {
		return err
	}
	if !holds {
		delete(alerts.since, key)
		return nil
	}
	if _, isKnown := alerts.since[key]; !isKnown {
		alerts.since[key] = w.last
	}
	if w.last.Sub(alerts.since[key]) >= time.Duration(rule.For) {
		alerts.fired[rule.Alert] = true
	}
	return nil
}

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
	})
}
