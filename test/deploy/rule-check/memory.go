// What was scraped, for Prometheus' engine. Prometheus' own database would bring the clients of three clouds
// into the build.
package main

import (
	"context"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// memory keeps series in the order in which they appeared. It is for one goroutine.
type memory struct {
	storage.MockQuerier
	all     []*series
	byLabel map[string]*series
}

func (m *memory) add(of labels.Labels, atMs int64, value float64) {
	key := of.String()
	if m.byLabel[key] == nil {
		m.byLabel[key] = &series{labels: of}
		m.all = append(m.all, m.byLabel[key])
	}
	m.byLabel[key].samples = append(m.byLabel[key].samples, sample{atMs, value})
}

func (m *memory) Querier(_, _ int64) (storage.Querier, error) { return m, nil }

func (m *memory) Select(_ context.Context, _ bool, _ *storage.SelectHints, by ...*labels.Matcher) storage.SeriesSet {
	found := &selection{at: -1}
	for _, each := range m.all {
		if matchesAll(each.labels, by) {
			found.series = append(found.series, each)
		}
	}
	return found
}

func matchesAll(of labels.Labels, by []*labels.Matcher) bool {
	for _, matcher := range by {
		if !matcher.Matches(of.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

type selection struct {
	series []*series
	at     int
}

func (s *selection) Next() bool { s.at++; return s.at < len(s.series) }
func (s *selection) At() storage.Series {
	return storage.NewListSeries(s.series[s.at].labels, s.series[s.at].samples)
}
func (s *selection) Err() error                        { return nil }
func (s *selection) Warnings() annotations.Annotations { return nil }

type sample struct {
	atMs  int64
	value float64
}

func (s sample) T() int64                      { return s.atMs }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
