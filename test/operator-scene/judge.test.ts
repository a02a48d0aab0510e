import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWhereThere } from '../needs.ts';
import { type Answer, describePanels, pendingAlerts, problemsOf } from './judge.ts';
import { configurationFor } from './prometheus.ts';

const WORKERS: Answer = {
  ...{ file: 'fleet.json', title: 'Workers', expression: 'sum(parley_workers)' },
  ...{ series: 1, with_numbers: 1, last: 2, max: 2 },
};
const EMPTY = { series: 0, with_numbers: 0, last: null, max: null };
const about = (answer: Answer) => problemsOf([answer]).filter((line) => !line.startsWith('no panel'));

it('a panel is right with numbers, or if nothing happened that it shows', () => {
  expect(about(WORKERS)).toEqual([]);
  expect(about({ ...WORKERS, title: 'Refused calls', ...EMPTY })).toEqual([]);
});

it('an empty panel, one that stays at 0 in spite of what happened, and an error are problems', () => {
  expect(about({ ...WORKERS, ...EMPTY })).toEqual(['fleet.json, Workers: sum(parley_workers): empty']);
  expect(about({ ...WORKERS, max: 0 })).toEqual(['fleet.json, Workers: sum(parley_workers): never above 0']);
  expect(about({ ...WORKERS, error: 'timed out' })).toEqual([
    'fleet.json, Workers: sum(parley_workers): timed out',
  ]);
});

it('an alert may be silent, and is named if its condition held', () => {
  const alert = { ...WORKERS, file: 'alerts', title: 'ParleyNoWorker' };
  expect(about({ ...alert, ...EMPTY })).toEqual([]);
  expect(pendingAlerts([alert, { ...alert, ...EMPTY }])).toEqual(['ParleyNoWorker']);
  expect(describePanels([WORKERS, alert])).toEqual(['fleet | Workers | 1 series | last 2, highest 2']);
});

it('a panel that the scene knows and no dashboard has is a problem', () => {
  expect(problemsOf([WORKERS])).toContain('no panel Take-overs');
});

it('the documented configuration of Prometheus has a token for control planes, and names every part', () => {
  const targets = { parley: ['10.0.0.1:8080'], 'parley-calls': ['10.0.0.2:9090'] };
  expect(configurationFor(targets, '/token')).toMatchObject({
    scrape_configs: [
      { job_name: 'parley', authorization: { credentials_file: '/token' } },
      { job_name: 'parley-calls', static_configs: [{ targets: ['10.0.0.2:9090'] }] },
    ],
  });
});

describeWhereThere(['parley-rule-check'])('Prometheus’ engine', () => {
  it('answers panels and alerts from what it has scraped with the token, recorded rules included', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-answers-'));
    let calls = 0;
    const server = createServer(({ headers }, response) => {
      calls += 5;
      if (headers.authorization === 'Bearer secret') response.end(`calls_total{channel="phone"} ${calls}\n`);
      else response.writeHead(401).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const targets = [`127.0.0.1:${(server.address() as AddressInfo).port}`, '127.0.0.1:1'];
    const file = (name: string, content: unknown) => {
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
      return join(folder, name);
    };
    const rules = [
      { record: 'calls:rate', expr: 'sum by (job) (rate(calls_total[1m]))' },
      { alert: 'Down', expr: 'up{job="parley"} == 0' },
      { alert: 'NoCalls', expr: 'calls_total == 0' },
    ];
    const exprs = [
      'calls:rate',
      'sum by (channel) (rate(calls_total[$__rate_interval]))',
      '0 / up',
      'nothing',
    ];
    const configuration = {
      global: { scrape_interval: '1s' },
      rule_files: [file('rules.yml', { groups: [{ name: 'g', rules }] })],
      scrape_configs: [
        {
          job_name: 'parley',
          authorization: { credentials_file: file('token', 'secret\n') },
          static_configs: [{ targets }],
        },
      ],
    };
    const dashboard = { panels: exprs.map((expr) => ({ title: expr, targets: [{ expr }] })) };
    try {
      const child = spawn('parley-rule-check', [
        ...['answers', file('prometheus.yml', configuration), file('calls.json', dashboard)],
      ]);
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      await expect.poll(() => calls, { timeout: 20_000 }).toBeGreaterThanOrEqual(15);
      child.stdin.end();
      expect(await once(child, 'close')).toEqual([0, null]);
      const answers = said
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Answer);
      const seen = answers.map(({ title, series, with_numbers: numbers }) => [title, series, numbers]);
      expect(seen).toEqual([
        [exprs[0], 1, 1],
        [exprs[1], 1, 1],
        // 0 / 0 is no number.
        [exprs[2], 2, 1],
        [exprs[3], 0, 0],
        ['Down', 1, 1],
        ['NoCalls', 0, 0],
      ]);
      expect(answers[1]?.max).toBeGreaterThan(0);
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  }, 60_000);
});
