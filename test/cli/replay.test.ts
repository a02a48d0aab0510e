import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addReplayCommands } from '#cli/replay.ts';
import { settingsOf } from '#cli/replay-run.ts';
import { resultOf } from '#control-plane/calls/recordings/tuning.ts';
import { tallyLogs } from '#runtime/replay/tuning.ts';
import { storedLog } from '../runtime/replay/logged-call.ts';
import { printedBy } from './printed-by.ts';

describe('--set', () => {
  it('accepts settings by their API names', () => {
    expect(
      settingsOf([
        'conversation.eagerness=eager',
        'response_max_wait_ms=null',
        'conversation.hangup_after_seconds=30',
      ]),
    ).toEqual({
      eagerness: 'eager',
      responseMaxWaitMs: null,
      hangupAfterMs: 30_000,
    });
  });

  it('lists the accepted settings, and the values of a setting', () => {
    expect(() => settingsOf(['voice.speed=2'])).toThrow(/names: response_wait_ms/);
    expect(() => settingsOf(['conversation.eagerness=keen'])).toThrow(/eagerness=keen/);
    expect(() => settingsOf(['eager'])).toThrow(/conversation\.<name>=<value>/);
  });
});

/** The answer of the API for this many of 20 calls. */
async function tuningOf(calls: number) {
  const seeds = Array.from({ length: Math.min(20, calls) }, (_, index) => index + 1);
  const logs = await Promise.all(seeds.map(storedLog));
  return resultOf(tallyLogs(logs));
}

describe('a finished call', () => {
  let server: Server;

  beforeAll(async () => {
    const agents = [{ agent_id: 'a1', name: 'Ann' }];
    server = createServer(async ({ url = '' }, response) => {
      const [, id] = /sessions\/(\d+)\/flight-log/.exec(url) ?? [];
      const [, calls] = /agents\/a1\/tuning\?calls=(\d+)$/.exec(url) ?? [];
      if (calls) response.end(JSON.stringify(await tuningOf(Number(calls))));
      else if (id) response.end(await storedLog(Number(id)));
      else response.end(JSON.stringify({ ...agents[0], agents, next_cursor: null }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  const parley = (...args: string[]) => printedBy(server, addReplayCommands, args);

  it('is replayed as it happened, input by input', async () => {
    expect(await parley('replay', '2')).toMatch(
      /0\.000 {2}call\.started[\s\S]*call\.connected[\s\S]*→ hangUp/,
    );
  });

  it('is compared with the result of another setting', async () => {
    const output = await parley('replay', '1', '--set', 'conversation.hangup_after_seconds=10');
    expect(output).toMatch(
      /^As it was +\d+\.\d{3} s {2}\w+[\s\S]*^Would have been +\d+\.\d{3} s {2}\w+[\s\S]*\d+ % of the call was the same/m,
    );
  });

  it('tunes an agent together with its other calls', async () => {
    const output = await parley('tune', 'Ann');
    expect(output).toMatch(/SETTINGS +CUT OFF +SAVED/);
    expect(output).toMatch(/20 calls, \d+ % of their pauses judged/);
    expect(output).toMatch(/Recommended: /);
  });

  it('is too little to recommend settings from', async () => {
    expect(await parley('tune', 'Ann', '--calls', '1')).toMatch(
      /^With so few calls nothing can be recommended: calls read: 1, pauses to judge: \d+, needed: 20\.$/,
    );
  });
});
