import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { archivedMonths } from '#control-plane/platform/store/session-archive.ts';
import { type PlannedQuery, QueryListener } from '../../platform/store/listen-to-queries.ts';
import { openTestArchive, type TestArchive } from './archived-calls.ts';

const STORED = 2_000;
const HOURS = 4;
/** Half of them. */
const KEPT_DAYS = (STORED * HOURS) / 48;
const PAGE = 20;

let api: TestArchive;
let ids: string[];

beforeAll(async () => {
  api = await openTestArchive();
  await api.newTenant();
  ids = await api.copies(STORED, HOURS, (index) => ({
    ...(index % 100 === 0
      ? { status: 'failed', end_reason: 'dial_failed', caller_number: '+15550100077' }
      : {}),
  }));
  expect((await api.archive(KEPT_DAYS)).length).toBe(STORED / 2);
});
afterAll(() => api.close());

/** The queries of one page that begins after this many sessions, all collections together. */
async function queriesOf(depth: number, filter = ''): Promise<PlannedQuery[]> {
  const session = (await api.get(`/v1/agent/sessions/${ids[depth]}`)).body;
  const before = encodeURIComponent(session.created_at);
  const months = await archivedMonths(api.context);
  const listeners = [api.context.models.sessions, ...months].map(
    ({ collection }) => new QueryListener(collection),
  );
  const { body } = await api.get(`/v1/agent/sessions?page_size=${PAGE}&created_before=${before}${filter}`);
  expect(body.sessions.length).toBeGreaterThan(0);
  return (await Promise.all(listeners.map((listener) => listener.explain()))).flat();
}

describe('two thousand sessions, half of them archived', () => {
  it.each([0, STORED / 2 - 5 * PAGE])(
    'a page after %i of those that are not archived asks only the sessions, as without an archive',
    async (depth) => {
      expect(await queriesOf(depth)).toHaveLength(1);
    },
  );

  it('a page in the archive asks the sessions and the months that it needs, and reads what it shows', async () => {
    const queries = await queriesOf(STORED - 10 * PAGE);
    expect(queries.length).toBeLessThan(40);
    for (const { wasted, index } of queries) expect([wasted <= 1, index]).toEqual([true, expect.any(String)]);
  });

  it.each(['&status=failed', '&caller_number=%2B15550100077', '&end_reason=dial_failed'])(
    'a list of few (%s) reads only these, however many months there are',
    async (filter) => {
      for (const { wasted, index } of await queriesOf(STORED / 4, filter))
        expect([wasted <= 1, index]).toEqual([true, expect.any(String)]);
    },
  );
});
