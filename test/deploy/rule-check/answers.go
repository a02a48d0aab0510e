// The mode `answers <prometheus.yml> <dashboard>…`: scrapes and records as Prometheus does with this
// configuration, until its standard input ends. Then it asks every expression of the dashboards and alerts, with
// Prometheus' own engine, over the whole time. Prints one line of JSON for each expression.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"go.yaml.in/yaml/v3"
)

// What Prometheus' configuration may say here.
type configuration struct {
	Global struct {
		ScrapeInterval model.Duration `yaml:"scrape_interval"`
	} `yaml:"global"`
	RuleFiles     []string `yaml:"rule_files"`
	ScrapeConfigs []job    `yaml:"scrape_configs"`
}

type job struct {
	Name          string `yaml:"job_name"`
	Authorization struct {
		CredentialsFile string `yaml:"credentials_file"`
	} `yaml:"authorization"`
	StaticConfigs []struct {
		Targets []string `yaml:"targets"`
	} `yaml:"static_configs"`
}

// An expression of a panel or a rule, and what it yielded.
type answer struct {
	File       string `json:"file"`
	Title      string `json:"title"`
	Expression string `json:"expression"`
	Series     int    `json:"series"`
	// Series with at least one number.
	WithNumbers int `json:"with_numbers"`
	// The last number of one of them, and the largest of all.
	Last  *float64 `json:"last"`
	Max   *float64 `json:"max"`
	Error string   `json:"error,omitempty"`
}

type watch struct {
	configuration configuration
	rules         []rulefmt.Rule
	store         *memory
	engine        *promql.Engine
	client        http.Client
	began         time.Time
	last          time.Time
}

func watchAndAnswer(arguments []string) error {
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	w := &watch{client: http.Client{Timeout: 4 * time.Second}, store: &memory{byLabel: map[string]*series{}}}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&w.configuration); err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	for _, file := range w.configuration.RuleFiles {
		groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, newParser(), nil)
		if len(errs) > 0 {
			return errs[0]
		}
		for _, group := range groups.Groups {
			w.rules = append(w.rules, group.Rules...)
		}
	}
	w.engine = newEngine()
	w.untilTold()
	return w.answerAll(arguments[1:])
}

// untilTold scrapes and evaluates the rules at every interval, and once more at the end.
func (w *watch) untilTold() {
	told := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(told)
	}()
	w.began = time.Now()
	ticker := time.NewTicker(time.Duration(w.configuration.Global.ScrapeInterval))
	defer ticker.Stop()
	for isOver := false; !isOver; {
		w.round()
		select {
		case <-ticker.C:
		case <-told:
			isOver = true
		}
	}
	w.round()
}

func (w *watch) round() {
	w.last = time.Now()
	for _, job := range w.configuration.ScrapeConfigs {
		for _, group := range job.StaticConfigs {
			for _, target := range group.Targets {
				w.scrape(job, target)
			}
		}
	}
	for _, rule := range w.rules {
		if rule.Record == "" {
			continue
		}
		if err := w.record(rule); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", rule.Record, err)
		}
	}
}

// scrape keeps what a target says, as of the beginning of the round.
func (w *watch) scrape(job job, target string) {
	own := map[string]string{"job": job.Name, "instance": target}
	up := 1.0
	if err := w.read(job, target, own); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", target, err)
		up = 0
	}
	own[labels.MetricName] = "up"
	w.store.add(labels.FromMap(own), w.last.UnixMilli(), up)
}

func (w *watch) read(job job, target string, own map[string]string) error {
	request, err := http.NewRequest(http.MethodGet, "http://"+target+"/metrics", nil)
	if err != nil {
		return err
	}
	if file := job.Authorization.CredentialsFile; file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return w.keep(textparse.NewPromParser(body, labels.NewSymbolTable(), false), own)
}

func (w *watch) keep(parser textparse.Parser, own map[string]string) error {
	for {
		entry, err := parser.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var found labels.Labels
		parser.Labels(&found)
		_, _, value := parser.Series()
		builder := labels.NewBuilder(found)
		for name, text := range own {
			builder.Set(name, text)
		}
		w.store.add(builder.Labels(), w.last.UnixMilli(), value)
	}
}

func (w *watch) record(rule rulefmt.Rule) error {
	return w.evaluate(rule.Expr, func(found promql.Sample) {
		builder := labels.NewBuilder(found.Metric)
		builder.Set(labels.MetricName, rule.Record)
		w.store.add(builder.Labels(), w.last.UnixMilli(), found.F)
	})
}

// evaluate calls each with every result that an expression has at the time of the round.
func (w *watch) evaluate(expression string, each func(promql.Sample)) error {
	query, err := w.engine.NewInstantQuery(context.Background(), w.store, nil, expression, w.last)
	if err != nil {
		return err
	}
	defer query.Close()
	vector, err := query.Exec(context.Background()).Vector()
	for _, found := range vector {
		each(found)
	}
	return err
}

func (w *watch) answerAll(files []string) error {
	encoder := json.NewEncoder(os.Stdout)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				_ = encoder.Encode(w.ask(filepath.Base(file), panel.Title, target.Expr))
			}
		}
	}
	for _, rule := range w.rules {
		if rule.Alert != "" {
			_ = encoder.Encode(w.ask("alerts", rule.Alert, rule.Expr))
		}
	}
	return nil
}

// ask evaluates an expression over the whole time of the watch, as a panel of Grafana does.
func (w *watch) ask(file, title, expression string) answer {
	found := answer{File: file, Title: title, Expression: expression}
	step := time.Duration(w.configuration.Global.ScrapeInterval)
	// Grafana's rule for a graph whose step is one scrape.
	rate := model.Duration(4 * step).String()
	text := strings.ReplaceAll(expression, "$__rate_interval", rate)
	query, err := w.engine.NewRangeQuery(context.Background(), w.store, nil, text, w.began, w.last, step)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	defer query.Close()
	matrix, err := query.Exec(context.Background()).Matrix()
	if err != nil {
		found.Error = err.Error()
		return found
	}
	found.Series = len(matrix)
	for _, series := range matrix {
		hasNumber := false
		for _, point := range series.Floats {
			if math.IsNaN(point.F) || math.IsInf(point.F, 0) {
				continue
			}
			hasNumber = true
			number := point.F
			found.Last = &number
			if found.Max == nil || number > *found.Max {
				found.Max = &number
			}
		}
		if hasNumber {
			found.WithNumbers++
		}
	}
	return found
}
