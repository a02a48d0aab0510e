import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addReplayCommands } from '#cli/replay.ts';
import { type SeededCulprit, seededCulprit } from '../runtime/replay/bisect/seeded-history.ts';
import { textOf } from '../runtime/replay/logged-call.ts';
import { printedBy } from './printed-by.ts';

const CALL_AT = '2026-11-20T10:00:00.000Z';

describe('parley bisect', () => {
  let server: Server;
  let seeded: SeededCulprit;

  beforeAll(async () => {
    // A call with a turn that was taken too late.
    seeded = await seededCulprit(5);
    const log = textOf(seeded.inCase.log);
    const rows = seeded.history.map((_, index) => ({
      version_number: index + 1,
      version_title: `change ${index + 1}`,
      published_at: `2026-11-10T10:00:${String(index).padStart(2, '0')}.000Z`,
    }));
    const later = { version_number: 31, version_title: 'later', published_at: '2026-11-21T10:00:00.000Z' };
    server = createServer(({ url = '' }, response) => {
      const [, number] = /\/agents\/a1\/versions\/(\d+)$/.exec(url) ?? [];
      if (url === '/v1/agent/sessions/s1/flight-log') response.end(log);
      else if (url === '/v1/agent/sessions/old/flight-log')
        response.end(log.replace(/"machine_version":\d+/, '"machine_version":3'));
      else if (url === '/v1/agent/sessions/s1')
        response.end(JSON.stringify({ agent_id: 'a1', created_at: CALL_AT }));
      else if (number)
        response.end(JSON.stringify({ config: { conversation: seeded.history[Number(number) - 1] } }));
      else response.end(JSON.stringify({ versions: [later, ...rows.toReversed()], next_cursor: null }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }, 60_000);
  afterAll(() => server.close());

  const parley = (json: boolean, ...args: string[]) =>
    printedBy(server, addReplayCommands, ['bisect', ...args], { json });

  it('prints the moment, the walk, and the version with its setting before and after', async () => {
    const { history, setting, version } = seeded;
    const output = await parley(false, 's1', '--expr', 'wait_ms > 700');
    const [before, after] = [history[version - 2], history[version - 1]].map((one) =>
      JSON.stringify(one?.[setting]),
    );
    expect(output).toMatch(
      /^\d:\d\d\.\d(, turn \d+)?: the wait before the turn was taken: \d+ ms \(bad: > 700 ms\)/,
    );
    expect(output).toMatch(/^version \d+ +(good|bad) +\d+ ms/m);
    expect(output).toMatch(/^machine \d+ +(good|bad|skipped)/m);
    expect(output).toContain(`Culprit: version ${version} of the agent, published 2026-11-10T10:00:`);
    expect(output).toContain(`“change ${version}”; version ${version - 1} is good`);
    expect(output).toContain(`  conversation.${setting}: ${before} → ${after}`);
  });

  it('prints one JSON value for programs', async () => {
    const result = JSON.parse(await parley(true, 's1', '--expr', 'wait_ms > 700'));
    expect(result).toMatchObject({
      measure: { quantity: 'wait_ms', limit: 700 },
      moment: { value: expect.any(Number) },
      walked: expect.arrayContaining([expect.objectContaining({ of: 'agent' })]),
    });
    expect(result.culprits).toContainEqual(
      expect.objectContaining({ of: 'agent', bad: seeded.version, good: seeded.version - 1 }),
    );
  });

  it('says how bad the call is if it is not bad by the measure', async () => {
    await expect(parley(false, 's1', '--expr', 'wait_ms > 14000')).rejects.toThrow(
      /not bad by this measure: at \d:\d\d\.\d.*wait_ms is \d+ ms; give another limit/,
    );
  });

  it('says how to write a measure, and which machines it has', async () => {
    await expect(parley(false, 's1', '--expr', 'tone > 3')).rejects.toThrow(/write <quantity>/);
    await expect(parley(false, 's1', '--expr', 'cut_off', '--measure', 'wait')).rejects.toThrow(/not both/);
    await expect(parley(false, 'old')).rejects.toThrow(/version 3; the known versions are 14, /);
  });
});
