import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Api, CommandError } from '#cli/api.ts';
import { addCallFileCommands } from '#cli/call-files.ts';
import { KEYS_PATH } from '#protocol/call-file.ts';
import { ExportedCalls } from '../control-plane/calls/recordings/exported-call.ts';

let calls: ExportedCalls;
let url: string;
let id: string;
let folder: string;

beforeAll(async () => {
  calls = await ExportedCalls.open();
  id = await calls.make();
  folder = mkdtempSync(join(tmpdir(), 'call-files-'));
  url = await calls.api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await calls.api.close();
  rmSync(folder, { recursive: true });
});

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

/** Runs a command; returns its exit code, if it is not thrown. */
async function parley(args: readonly string[], key = calls.key): Promise<number> {
  const program = new Command('parley').exitOverride();
  addCallFileCommands(program, { api: () => new Api({ url, key }), url, json: false });
  process.exitCode = 0;
  await program.parseAsync([...args], { from: 'user' });
  return Number(process.exitCode);
}

const place = (name: string) => join(folder, name);

describe('parley export-call and verify-call', () => {
  it('write a call to a file and verify it with the keys that the deployment publishes', async () => {
    expect(await parley(['export-call', id, '-o', place('call.html')])).toBe(0);
    writeFileSync(place('keys.json'), (await calls.api.request('GET', KEYS_PATH)).text);
    expect(await parley(['verify-call', place('call.html'), '--keys', place('keys.json')])).toBe(0);
    expect(printed).toEqual(expect.arrayContaining(['Verified', expect.stringContaining(id)]));
  });

  it('do not take the key in a file for that of the deployment it names', async () => {
    expect(await parley(['verify-call', place('call.html')])).toBe(0);
    expect(printed[0]).toBe('Unchanged since it was signed; the key is not confirmed');
    expect(printed.join('\n')).not.toMatch(/^(?:Verified|Signed by)/m);
    expect(printed.join('\n')).toContain('--keys');
  });

  it('say what was signed while the call ran, and what at the export only', async () => {
    expect(await parley(['verify-call', place('call.html')])).toBe(0);
    expect(printed.join('\n')).toMatch(/Signed in the call +1 time, with 1 worker; last digest [\w-]{43}/);
    expect(printed.join('\n')).toMatch(/sound of the caller +2 signed in the call at 20\d\d-/);
    expect(printed.join('\n')).toMatch(/sound of the agent +1 only at the export/);
  });

  it('say of a call from before that it was signed at the export only', async () => {
    await parley(['export-call', await calls.makeEarlier(), '-o', place('earlier.html')]);
    expect(await parley(['verify-call', place('earlier.html')])).toBe(0);
    expect(printed.join('\n')).toMatch(/Signed in the call +nothing: the file was signed at the export only/);
  });

  it('compare a file with a digest that was kept from the call', async () => {
    await parley(['call-chain', id]);
    const digest = /Digest +(\S+)/.exec(printed.join('\n'))?.[1] ?? '';
    expect(await parley(['verify-call', place('call.html'), '--digest', digest])).toBe(0);
    const other = `${digest.slice(0, -1)}${digest.endsWith('A') ? 'E' : 'A'}`;
    expect(await parley(['verify-call', place('call.html'), '--digest', other])).toBe(1);
    expect(printed.join('\n')).toContain(`no link with the digest ${other}`);
  });

  it('name what was left out', async () => {
    await parley(['export-call', id, '-o', place('redacted.html'), '--redact', 'numbers, item:2']);
    expect(await parley(['verify-call', place('redacted.html')])).toBe(0);
    expect(printed.join('\n')).toMatch(
      /Redacted +numbers and metadata, line 2 of the transcript, flight log/,
    );
  });

  it('exit with 1 and say what is wrong with a file that was changed, and of one that was cut off', async () => {
    const whole = readFileSync(place('call.html'));
    const changed = Buffer.from(whole);
    changed[100] = (changed[100] ?? 0) ^ 1;
    writeFileSync(place('changed.html'), changed);
    expect(await parley(['verify-call', place('changed.html')])).toBe(1);
    expect(printed[0]).toMatch(
      /^Not verified:\n- The page itself, or what stands around the data, was changed/,
    );
    writeFileSync(place('cut.html'), whole.subarray(0, whole.indexOf('call-seal')));
    await expect(parley(['verify-call', place('cut.html')])).rejects.toMatchObject({ exitCode: 1 });
  });

  it('refuse keys of another deployment', async () => {
    const other = await ExportedCalls.open({ CALL_KEY_NUMBER: '1' });
    writeFileSync(place('others.json'), (await other.api.request('GET', KEYS_PATH)).text);
    await other.api.close();
    expect(await parley(['verify-call', place('call.html'), '--keys', place('others.json')])).toBe(1);
    expect(printed[0]).toContain('none of the given ones');
  });

  it('say which key is needed, and leave no file behind', async () => {
    const refused = parley(['export-call', id, '-o', place('refused.html')], calls.user.key);
    await expect(refused).rejects.toThrow(CommandError);
    await expect(refused).rejects.toThrow(/may_export_calls/);
    expect(() => readFileSync(place('refused.html'))).toThrow();
  });
});
