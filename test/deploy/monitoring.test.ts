import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { createWorkerMetrics } from '#runtime/worker/worker-metrics.ts';
import { describeWhereThere } from '../needs.ts';
import { documentedMetrics, problemsOf } from './metric-selectors.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}
interface Panel {
  readonly title: string;
  readonly description: string;
  readonly datasource: { readonly uid: string };
  readonly targets: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
  readonly fieldConfig: { readonly defaults: { readonly unit: string } };
}
interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly panels: readonly Panel[];
}

const RULES = 'deploy/monitoring/alerts.yml';
const { groups } = parse(read(RULES)) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => rule.alert !== undefined);
const alertNames = [...new Set(alerts.map(({ alert = '' }) => alert))].sort();
const dashboardFiles = globSync('deploy/monitoring/dashboards/*.json', { cwd: ROOT }).sort();
const dashboards = dashboardFiles.map((file) => JSON.parse(read(file)) as Dashboard);
const known = documentedMetrics(read('docs/metrics.md'));
const recorded = new Set(rules.flatMap(({ record }) => (record === undefined ? [] : [record])));

/** The sections of the runbooks by their headings. */
const sections = new Map(
  read('docs/runbooks.md')
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text] as const)
    .filter(([heading]) => heading !== 'Set up'),
);

describe('the alert rules', () => {
  it('name only metrics, labels and values that docs/metrics.md lists, and buckets that exist', async () => {
    for (const { expr } of rules) expect(await problemsOf(expr, known, recorded), expr).toEqual([]);
  });

  it('fire for each objective at burn rates of 14.4 over an hour and of 6 over six hours', () => {
    for (const objective of ['answers', 'turns', 'gaps', 'webhooks']) {
      const burns = alerts.filter(({ expr }) => expr.includes(`parley:${objective}_bad`));
      const rates = burns.map(({ expr, labels }) => [
        labels?.severity,
        ...[...expr.matchAll(/_bad:rate(\w+) \/ \S+ > (\S+) \*/g)].map(([, window, rate]) => [window, rate]),
      ]);
      expect(rates).toEqual([
        ['critical', ['1h', '14.4'], ['5m', '14.4']],
        ['warning', ['6h', '6'], ['30m', '6']],
      ]);
    }
  });

  it('wake nobody for what a tenant’s own endpoint or receiver does', () => {
    const selectors = rules.flatMap(({ expr }) => [...expr.matchAll(/parley_vendor_\w+[^[]*\[/g)]);
    expect(selectors.length).toBeGreaterThan(4);
    expect(selectors.map(([text]) => text).filter((text) => !text.includes('vendor!="custom"'))).toEqual([]);
    const ofReceivers = /parley_webhook|queue=~?"[^"]*webhooks/;
    const critical = rules.filter(
      ({ record, labels }) => record !== undefined || labels?.severity === 'critical',
    );
    expect(critical.filter(({ expr }) => ofReceivers.test(expr))).toEqual([]);
  });

  it('call a call lost by the reason of its end, not by the outcome of a take-over', () => {
    expect(alerts.find(({ alert }) => alert === 'ParleyCallsLost')?.expr.trim()).toBe(
      'sum(increase(parley_calls_ended_total{reason="heartbeat_timeout"}[10m])) > 0',
    );
  });

  it('count only what exists before it happens: a counter that begins with an event hides it', async () => {
    const counters = new Set(rules.flatMap(({ expr }) => expr.match(/\bparley_\w+_total\b/g) ?? []));
    expect(counters.size).toBeGreaterThan(4);
    const bodies = await Promise.all(
      [createMetrics(), createWorkerMetrics()].map(async ({ meters }) => (await meters.scrape()).body),
    );
    // Signalling counts without labels.
    const missing = [...counters].filter(
      (name) => !name.startsWith('parley_sip_') && !bodies.some((body) => body.includes(`\n${name}`)),
    );
    expect(missing).toEqual([]);
  });

  it('need several errors before a share of errors counts', () => {
    const shares = alerts.filter(({ expr }) => expr.includes('outcome') && expr.includes(' / '));
    expect(shares.map(({ alert }) => alert)).toEqual([
      'ParleyStoreErrors',
      'ParleyVendorErrors',
      'ParleyWebhooksRefused',
    ]);
    for (const { expr } of shares) expect(expr.split(/\band sum/)[1]).toMatch(/\bincrease\(.* >= \d/s);
  });

  it('have a severity, a summary, a description and the address of their runbook', () => {
    for (const { alert = '', labels, annotations } of alerts) {
      expect(labels?.severity).toMatch(/^(?:critical|warning)$/);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/\S/),
        description: expect.stringMatching(/\S.*\.$/s),
        runbook_url: `docs/runbooks.md#${alert.toLowerCase()}`,
      });
    }
  });

  it('contain every alert that parley status names', () => {
    const named = [...read('cli/fleet-status.ts').matchAll(/'(Parley\w+)'/g)].map(([, alert]) => alert);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((alert) => !alertNames.includes(alert ?? ''))).toEqual([]);
  });
});

describe('the runbooks', () => {
  it('have a section for each alert and no other', () => {
    expect([...sections.keys()].sort()).toEqual(alertNames);
  });

  it('say in each section what it means, how to see it and what to do', () => {
    for (const [heading, text] of sections)
      expect([heading, [...text.matchAll(/^\*\*([^*]+)\.\*\*/gm)].map(([, part]) => part)]).toEqual([
        heading,
        ['Meaning', 'See it', 'Do'],
      ]);
  });

  it('quote only metrics that exist and lines that some part logs', () => {
    const sources = globSync('{control-plane,runtime,media,telephony,processes}/**/*.ts', { cwd: ROOT })
      .map(read)
      .join('\n');
    for (const text of sections.values()) {
      const names = [...text.matchAll(/`((?:parley|nodejs|process)_\w+)`/g)].map(([, name = '']) => name);
      expect(names.filter((name) => !known.has(name))).toEqual([]);
      const [, logged = ''] = /\bLog\b[^:`]*: (.*?)\n\n/s.exec(text) ?? [];
      const lines = [...logged.matchAll(/`([^`]+)`/g)].map(([, line = '']) => line.replaceAll('\n', ' '));
      expect(lines.filter((line) => !sources.includes(line))).toEqual([]);
    }
  });
});

describe('the dashboards', () => {
  it('are fleet, calls, turns, vendors and money', () => {
    expect(dashboards.map(({ uid }) => uid)).toEqual(
      ['calls', 'fleet', 'money', 'turns', 'vendors'].map((name) => `parley-${name}`),
    );
  });

  it('name only metrics, labels and values that docs/metrics.md lists, and buckets that exist', async () => {
    const expressions = dashboards.flatMap(({ panels, annotations }) => [
      ...annotations.list.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]);
    expect(expressions.length).toBeGreaterThan(50);
    for (const expr of expressions) expect(await problemsOf(expr, known, recorded), expr).toEqual([]);
  });

  it('ask for their data source, and every panel has a title, a description and a unit', () => {
    for (const { templating, panels } of dashboards) {
      expect(templating.list).toEqual([expect.objectContaining({ name: 'datasource', type: 'datasource' })]);
      for (const { title, description, datasource, targets, fieldConfig } of panels) {
        expect([title, description, fieldConfig.defaults.unit].every(Boolean), title).toBe(true);
        expect(
          new Set([datasource, ...targets.map((target) => target.datasource)].map(({ uid }) => uid)),
        ).toEqual(
          // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variable
          new Set(['${datasource}']),
        );
      }
    }
  });
});

describeWhereThere(['parley-rule-check'])('Prometheus’ own checker', () => {
  const check = (...files: readonly string[]) => {
    const { status, stdout } = spawnSync('parley-rule-check', files, { cwd: ROOT, encoding: 'utf8' });
    return { status, said: stdout.trim() };
  };

  it('accepts the rules and every expression of the dashboards', () => {
    expect(check(RULES, ...dashboardFiles)).toEqual({ status: 0, said: '' });
  });

  it.each([
    ['rule.yml', 'groups: [{ name: g, rules: [{ alert: A, expr: sum(parley_workers }] }]', /could not parse/],
    [
      'template.yml',
      'groups: [{ name: g, rules: [{ alert: A, expr: up, annotations: { a: "{{ $x }}" } }] }]',
      /\$x/,
    ],
    [
      'dashboard.json',
      '{"panels": [{"targets": [{"expr": "rate(parley_workers)"}]}]}',
      /expected type range/,
    ],
  ])('refuses a mistake in %s', (name, text, said) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-rules-'));
    try {
      const file = join(folder, name);
      writeFileSync(file, text);
      expect(check(file)).toEqual({ status: 1, said: expect.stringMatching(said) });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('fires each alert on what it is for, and no other', () => {
    const { status, said } = check('cases', RULES, 'test/deploy/alert-cases.yml');
    expect(status, said).toBe(0);
    const cases = said.split('\n').map((line) => JSON.parse(line) as { name: string; fired: string[] });
    for (const { name, fired } of cases)
      expect([name, fired]).toEqual([name, name.startsWith('nothing') ? [] : [name]]);
    const tried = cases.map(({ name }) => name).filter((name) => !name.startsWith('nothing'));
    expect(tried.sort()).toEqual(alertNames);
  });
});
