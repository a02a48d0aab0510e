import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addRehearseCommand } from '#cli/rehearse.ts';
import type { JudgedResult } from '#protocol/judged-rehearsal.ts';
import { type RehearsalRecord, type RunOutcome, rehearsalRecord } from '#protocol/rehearsal.ts';
import { addCall, NO_REHEARSED_CALLS, resultOf } from '#protocol/rehearsal-tally.ts';
import { rehearseCall } from '#runtime/replay/rehearsal/rehearse-call.ts';
import { storedLog } from '../runtime/replay/logged-call.ts';
import { printedBy } from './printed-by.ts';

/** The record of a rehearsal of twenty simulated calls. */
async function recordOf(status: RehearsalRecord['status']): Promise<RehearsalRecord> {
  let tally = NO_REHEARSED_CALLS;
  for (let seed = 1; seed <= 20; seed++) {
    const call = rehearseCall({
      session_id: `call-${seed}`,
      log: await storedLog(seed),
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

const estimated = { value: 0.2, low: 0.1, high: 0.35 };
const figures = {
  ...{ turns: 50, calls: 20, same: 30, better: 10, worse: 6, different: 4 },
  ...{ same_share: estimated, better_share: estimated, worse_share: estimated, different_share: estimated },
};
const JUDGED: JudgedResult = {
  ...{ status: 'ended', model: 'openai/gpt-4.1', judge_model: 'openai/gpt-4.1-mini', max_cost: '1.00' },
  ...{ cost: '0.42', cost_unknown: '0.03', stopped: 'max_cost', calls_read: 20, turns_found: 90 },
  ...{ turns_sampled: 60, turns_judged: 50, not_judged: { not_asked: 8, failed: 2, gone: 0 } },
  noise: { turns: 8, differing: 1, share: { value: 0.12, low: 0.02, high: 0.4 } },
  ...{ all: figures, by_language: [], by_number: [] },
  to_read: [
    {
      ...{ session_id: 'call-3', verdict: 'worse', at: '2026-11-01T09:00:00.000Z', second: 12.5 },
      reason: 'It names no price.\u001b[2J',
      call_answer: { text: 'Ten euros.', calls: [] },
      draft_answer: { text: 'Let me see.', calls: [{ tool_name: 'price', arguments: '{}' }] },
    },
  ],
};
const ESTIMATE = {
  ...{ calls_found: 30, calls_read: 20, turns_found: 90, turns_sampled: 60, turns_again: 6 },
  ...{ model: 'openai/gpt-4.1', judge_model: 'openai/gpt-4.1-mini', input_tokens: 90_000 },
  ...{ output_tokens: 8_000, cost: '0.40', max_cost: '1.00', is_priced: true },
};

describe('parley rehearse', () => {
  let server: Server;
  let ended: RehearsalRecord['status'];
  const bodies: string[] = [];
  let judged: JudgedResult | undefined;

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      if (request.method === 'POST') {
        for await (const chunk of request) bodies.push(String(chunk));
        const isEstimate = request.url?.endsWith('/estimate') === true;
        response.end(JSON.stringify(isEstimate ? ESTIMATE : await recordOf('running')));
      } else if (request.url?.endsWith('/rehearsals/r1'))
        response.end(JSON.stringify({ ...(await recordOf(ended)), judged }));
      else response.end(JSON.stringify({ agents: [{ agent_id: 'a1', name: 'Ann' }], next_cursor: null }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  const parley = (...args: string[]) => printedBy(server, addRehearseCommand, args);

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

  it('shows what a judge would cost, and spends nothing without a yes', async () => {
    ended = 'completed';
    bodies.length = 0;
    await expect(parley('rehearse', 'Ann', '--max-cost', '1.00')).rejects.toThrow(
      'Nothing was asked and nothing was spent: add --yes to go on',
    );
    expect(bodies.map((body) => JSON.parse(body))).toEqual([{ days: 30, judge: { max_cost: '1.00' } }]);
  });

  it('prints the verdicts with their noise and cost, why it stopped, and the turns to read', async () => {
    ended = 'completed';
    judged = JUDGED;
    const options = ['--max-cost', '1.00', '--turns', '60', '--judge-model', 'openai/gpt-4.1-mini', '--yes'];
    const printed = await parley('rehearse', 'Ann', ...options);
    judged = undefined;
    const judge = { max_cost: '1.00', turns: 60, model: 'openai/gpt-4.1-mini' };
    expect(JSON.parse(bodies.at(-1) ?? '')).toEqual({ days: 30, judge });
    expect(printed).toMatch(/expected cost +0\.40 dollars/);
    expect(printed).toMatch(/50 of 60 turns judged by openai\/gpt-4\.1-mini, for 0\.42 dollars of 1\.00/);
    expect(printed).toMatch(/Stopped: the next question could have cost more than was left/);
    expect(printed).toMatch(/worse +6 +20\.0 % \(10\.0 to 35\.0\)/);
    expect(printed).toMatch(/asked twice, differs from itself in 12\.0 %/);
    // A judge repeats what a caller has said: nothing of it reaches the terminal as a command.
    expect(printed).not.toContain('\u001b');
    expect(printed).toMatch(/worse: It names no price\. \[2J\n.*calls\/call-3\?t=12\.5/);
    expect(printed).toMatch(/draft: Let me see\. \[price {}\]/);
  });

  it('says why a rehearsal failed', async () => {
    ended = 'failed';
    await expect(parley('rehearse', 'Ann')).rejects.toThrow('no worker');
  });
});
