import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeSamples, results, toHeadlines } from '#bench/figures.ts';
import { MachineStalls, watchStalls } from '#bench/machine-stalls.ts';

const about = { what: 'reply', load: '1 call', unit: 'ms' };
const limits = { p95: 50 };
/** A sample every 100 ms; samples with these indexes took 200 ms, the others 20. */
const samples = (slow: readonly number[], count = 20) =>
  Array.from({ length: count }, (_, index) => ({
    atMs: 100 * index,
    value: slow.includes(index) ? 200 : 20,
  }));
const rule = { windowMs: 50, toleranceMs: 5 };

describe('machine stalls', () => {
  it('count for twice their length, to allow for catching up', () => {
    const stalls = new MachineStalls([
      { fromMs: 100, toMs: 110 },
      { fromMs: 115, toMs: 130 },
    ]);
    expect(stalls.within(0, 1_000)).toBe(45);
    expect(stalls.within(0, 100)).toBe(0);
    expect(stalls.within(140, 150)).toBe(5);
    expect(stalls.within(145, 1_000)).toBe(0);
  });

  it('are reported on a real machine, or reported as unavailable', async () => {
    const stalls = await (await watchStalls()).stop();
    expect(stalls === null || stalls.within(0, Date.now()) >= 0).toBe(true);
  });
});

describe('a figure', () => {
  it('missed only because of machine stalls is met between stalls, and shows both values', () => {
    const stalls = new MachineStalls(
      [3, 4].map((index) => ({ fromMs: 100 * index, toMs: 100 * index + 30 })),
    );
    const figure = judgeSamples(about, samples([3, 4]), limits, { stalls, ...rule });
    expect(figure).toMatchObject({
      value: 'p95 200.0 ms',
      undisturbed: 'p95 20.0 ms (n=18)',
      verdict: 'met between stalls',
    });
  });

  it('missed because of samples that were slow without a stall is missed: slow samples stay included', () => {
    const late = new MachineStalls(
      [3, 4].map((index) => ({ fromMs: 100 * index + 60, toMs: 100 * index + 90 })),
    );
    expect(judgeSamples(about, samples([3, 4]), limits, { stalls: late, ...rule }).verdict).toBe('missed');
    expect(judgeSamples(about, samples([3, 4]), limits, { stalls: null, ...rule })).toMatchObject({
      verdict: 'missed',
      undisturbed: '',
    });
  });

  it('is not met by undisturbed samples if there are hardly any', () => {
    const stalls = new MachineStalls([{ fromMs: 0, toMs: 1_000 }]);
    expect(judgeSamples(about, samples([3, 4], 25), limits, { stalls, ...rule })).toMatchObject({
      verdict: 'missed',
      undisturbed: 'p95 20.0 ms (n=5)',
    });
  });
});

describe('the figures of the README', () => {
  const page = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');
  const cellsOf = (text: string) =>
    (text.split('<!-- bench:begin -->')[1]?.split('<!-- bench:end -->')[0] ?? '')
      .split('\n')
      .filter((line) => /^\| (?!what|Figure)/.test(line))
      .map((line) => line.split('|').map((cell) => cell.trim()));

  it('are five rows of the table in docs/measuring.md, with the same values, budgets and verdicts', () => {
    const measured = cellsOf(page('docs/measuring.md')).map(
      ([, , , value, , budget, verdict]) => `${value} | ${budget} | ${verdict}`,
    );
    const shown = cellsOf(page('README.md')).map(
      ([, , value, budget, verdict]) => `${value} | ${budget} | ${verdict}`,
    );
    expect(shown).toHaveLength(5);
    expect(shown.filter((row) => !measured.includes(row))).toEqual([]);
  });

  it('are not written if one of them was not measured', () => {
    const run = results.parse(JSON.parse(page('bench/results.json')));
    expect(() => toHeadlines({ ...run, figures: run.figures.slice(1, 3) })).toThrow(
      'no figure “Parley’s share of a turn” under 50 calls',
    );
  });
});
