import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Api } from '#cli/api.ts';
import { addRehearseCommand } from '#cli/rehearse.ts';
import { type RehearsalRecord, type RunOutcome, rehearsalRecord } from '#protocol/rehearsal.ts';
import { addCall, NO_REHEARSED_CALLS, resultOf } from '#protocol/rehearsal-tally.ts';
import { rehearseCall } from '#runtime/replay/rehearsal/rehearse-call.ts';
import { simulateCall } from '../simulation/simulate-call.ts';

/** The record of a rehearsal of twenty simulated calls. */
async function recordOf(status: RehearsalRecord['status']): Promise<RehearsalRecord> {
  let tally = NO_REHEARSED_CALLS;
  for (let seed = 1; seed <= 20; seed++) {
    const log = Buffer.concat([...(await simulateCall(seed)).flightLog]).toString();
    const call = rehearseCall({
      session_id: `call-${seed}`,
      log,
      changes: { eagerness: 'eager' },
    }) as RunOutcome;
    tally = addCall(tally, call, { hour: seed % 2, number: null, startedMs: null });
  }
  const at = '2026-11-01T09:00:00.000Z';
  return rehearsalRecord.parse({
    ...{ rehearsal_id: 'r1', agent_id: 'a1', status, error: status === 'failed' ? 'no worker' : null },
    ...{ config_hash: 'h', since: at, calls_found: 30, calls_wanted: 25, calls_looked_at: 23 },
    left_out: { no_log: 1, other_version: 2, unreadable: 0 },
    ...{ calls_of_earlier_versions: 0, not_judged: ['prompt.system_prompt'], timezone: 'UTC' },
    ...{ result: resultOf(tally), created_at: at, finished_at: at },
  });
}

describe('parley rehearse', () => {
  let server: Server;
  let ended: RehearsalRecord['status'];
  const bodies: string[] = [];

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      if (request.method === 'POST') {
        for await (const chunk of request) bodies.push(String(chunk));
        response.end(JSON.stringify(await recordOf('running')));
      } else if (request.url?.endsWith('/rehearsals/r1')) response.end(JSON.stringify(await recordOf(ended)));
      else response.end(JSON.stringify({ agents: [{ agent_id: 'a1', name: 'Ann' }], next_cursor: null }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  async function parley(...args: string[]): Promise<string> {
    const printed: string[] = [];
    const print = vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const program = new Command('parley').exitOverride();
    addRehearseCommand(program, { api: () => new Api({ url, key: 'key' }), url, json: false });
    try {
      await program.parseAsync(args, { from: 'user' });
    } finally {
      print.mockRestore();
    }
    return printed.join('\n');
  }

  it('follows the rehearsal and prints figures with intervals, groups and calls to listen to', async () => {
    ended = 'completed';
    const printed = await parley('rehearse', 'Ann', '--days', '7', '--calls', '25');
    expect(JSON.parse(bodies.at(-1) ?? '')).toEqual({ days: 7, calls: 25 });
    expect(printed).toMatch(/20 calls rehearsed, of 30/);
    expect(printed).toMatch(/calls that would differ +\d+ +[\d.]+ % \([\d.]+ to [\d.]+\)/);
    expect(printed).toMatch(/HOUR \(UTC\)/);
    expect(printed).toMatch(/\/console\/calls\/call-\d+/);
    expect(printed).toMatch(/Recorded by another version of the turn machine: 2/);
    expect(printed).toMatch(/Not judged, although the draft changes it: prompt\.system_prompt/);
    expect(printed).toMatch(/Nothing is known beyond the first difference/);
  });

  it('says why a rehearsal failed', async () => {
    ended = 'failed';
    await expect(parley('rehearse', 'Ann')).rejects.toThrow('no worker');
  });
});
