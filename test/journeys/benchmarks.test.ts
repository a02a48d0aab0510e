/**
 * The benchmarks of the store, the wallet, retention and the control plane run small in CI: what they count
 * must hold at any size and on any machine. Their times are judged by the benchmarks alone.
 */
import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** Runs a benchmark and returns what it printed. It exits with 1 if a time misses its budget. */
function printed(script: string, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [`bench/${script}`, ...args], (error, stdout, stderr) => {
      if (error && error.code !== 1) reject(new Error(`${script} ended with ${error.code}: ${stderr}`));
      else resolve(stdout);
    });
  });
}

/** The line of a figure: its verdict, name and values. */
function figure(output: string, what: string): string {
  const line = output.split('\n').find((each) => /^(?:met|missed)/.test(each) && each.includes(what));
  if (line === undefined) throw new Error(`no figure "${what}" in:\n${output}`);
  return line;
}

/** A number in the output, such as that of `4.2 objects`. */
function numberBefore(output: string, unit: string): number {
  const found = new RegExp(String.raw`([\d.]+) ${unit}`).exec(output);
  if (!found) throw new Error(`no number before "${unit}" in:\n${output}`);
  return Number(found[1]);
}

describe('the benchmarks, small', () => {
  it('a call costs as many reads and objects beside 36 calls as beside 12', async () => {
    const fleet = (calls: number) =>
      printed('fleet/main.ts', '--calls', String(calls), '--call-seconds', '12', '--seconds', '12');
    const few = await fleet(12);
    const many = await fleet(36);
    expect(figure(few, 'commands to the store per call')).toMatch(/^met/);
    expect(figure(many, 'commands to the store per call')).toMatch(/^met/);
    const reads = (output: string) => numberBefore(output, 'of the commands are reads');
    expect(reads(many)).toBeLessThan(1.2 * reads(few) + 1);
    const objects = (output: string) => numberBefore(output, 'objects and');
    expect(objects(many)).toBeLessThan(1.2 * objects(few));
  });

  it('five replicas post to one wallet, and no entry is missing or wrong', async () => {
    expect(figure(await printed('wallet.ts', '2'), 'entries missing or wrong')).toMatch(/^met/);
  });

  it('two replicas delete what is due, each object once', async () => {
    const output = await printed('retention.ts', '80');
    expect(figure(output, 'deletions of what is deleted already')).toMatch(/^met/);
    expect(figure(output, 'objects left')).toMatch(/^met/);
  });

  it('a store with thousands of sessions, half of them in the archive, answers every question', async () => {
    const output = await printed('store-scale.ts', '4000', '0.3');
    for (const what of [
      'create session',
      'read session',
      'list, first page',
      'list of a caller, first page',
      'list of two statuses, first page',
      'list of an agent, first page',
      'read archived session',
      'list, archived page',
      'statistics of 93 days',
    ])
      expect(figure(output, what)).toMatch(/n=[1-9]/);
  });
});
