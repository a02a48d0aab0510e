import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const STORED = 400;
const PAGE = 10;
const RARE = {
  status: 'failed',
  end_reason: 'dial_failed',
  direction: 'outbound',
  caller_number: '+15550100077',
};

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
  const created = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  const { sessions } = api.context.models;
  const stored = (await sessions.findById(created.body.session_id).lean()) as SessionDocument;
  const copies = Array.from({ length: STORED }, (_, index) => ({
    ...stored,
    _id: `copy-${index}`,
    status: 'completed',
    end_reason: 'user_hangup',
    due: 0,
    wrapped_key: null,
    // A rare kind at large intervals.
    ...(index % 20 === 0 ? RARE : {}),
    created_at: new Date(stored.created_at.getTime() - index * 1_000),
  }));
  // Every second session belongs to another team and must never be examined.
  await sessions.collection.insertMany(
    copies.map((copy, index) => (index % 2 === 0 ? copy : { ...copy, team_id: 'other' })) as never[],
  );
});
afterAll(() => api.close());

/** Requests a page from the API; returns it with the filter of its query. */
async function ask(parameters: string): Promise<{ next: string; filter: Readonly<Record<string, unknown>> }> {
  const find = vi.spyOn(api.context.models.sessions, 'find');
  const { body, status } = await api.request('GET', `/v1/agent/sessions?page_size=${PAGE}${parameters}`, {
    key: user.key,
  });
  expect(status).toBe(200);
  const [filter = {}] = find.mock.calls[0] ?? [];
  find.mockRestore();
  return { next: body.next_cursor, filter: filter as Readonly<Record<string, unknown>> };
}

/**
 * Requests a page; returns its cursor, the number of rows from there to the end, and the number of documents
 * examined for them.
 */
async function page(parameters: string): Promise<{ next: string; examined: number; rows: number }> {
  const { sessions } = api.context.models;
  const { next, filter } = await ask(parameters);
  const explained = await sessions.collection
    .find(filter as never, { sort: { created_at: -1, _id: -1 } })
    .explain();
  return {
    next,
    examined: explained['executionStats'].totalDocsExamined,
    rows: explained['executionStats'].nReturned,
  };
}

describe('the list of sessions', () => {
  it.each([
    ['of a team', () => ''],
    ['of an agent', () => `&agent_id=${agentId}`],
    ['of a time', () => `&created_before=${encodeURIComponent(api.at(-20_000))}`],
  ])(
    '%s costs the same at any depth: a page begins in the index, and nothing before it is looked at',
    async (_, parameters) => {
      const wasted: number[] = [];
      for (let cursor = '', pages = 0; pages < 12; pages++) {
        const read = await page(`${parameters()}${cursor}`);
        expect(read.rows).toBeGreaterThan(PAGE);
        wasted.push(read.examined - read.rows);
        cursor = `&cursor=${encodeURIComponent(read.next)}`;
      }
      // The only rows examined outside a page are the cursor's own row and, for the first page, the pending
      // session.
      expect(Math.max(...wasted)).toBeLessThanOrEqual(1);
    },
  );

  it.each([
    ['a caller', '&caller_number=%2B15550100077'],
    ['a direction', '&direction=outbound'],
    ['an end reason', '&end_reason=dial_failed'],
    ['several end reasons', '&end_reason=dial_failed,cancelled'],
    ['a status', '&status=failed'],
    ['several statuses', '&status=failed,active'],
  ])(
    'store 5: finds %s without examining the many others, in order and page by page',
    async (_, parameters) => {
      const { body } = await api.request('GET', `/v1/agent/sessions?page_size=100${parameters}`, {
        key: user.key,
      });
      const ids = body.sessions.map((session: { session_id: string }) => session.session_id);
      expect(ids).toEqual(Array.from({ length: STORED / 20 }, (_, index) => `copy-${index * 20}`));
      for (let cursor = '', left = ids.length; left > 0; left -= PAGE) {
        const read = await page(`${parameters}${cursor}`);
        expect(read.examined - read.rows).toBeLessThanOrEqual(1);
        cursor = `&cursor=${encodeURIComponent(read.next)}`;
      }
    },
  );

  it.each([
    ['caller_number', '&caller_number=%2B15550100077'],
    ['sip_call_id', '&sip_call_id=call-1'],
  ])(
    'store 5: filters on strings for the string index by %s, because MongoDB infers no type',
    async (field, parameters) => {
      const partial = api.context.models.sessions.schema
        .indexes()
        .map(([, { partialFilterExpression }]) => partialFilterExpression);
      expect(partial).toContainEqual({ [field]: { $type: 'string' } });
      expect((await ask(parameters)).filter).toMatchObject({ [field]: { $type: 'string' } });
    },
  );

  it('merges several statuses into one order', async () => {
    const { body } = await api.request('GET', '/v1/agent/sessions?page_size=100&status=completed,failed', {
      key: user.key,
    });
    const ids = body.sessions.map((session: { session_id: string }) => session.session_id);
    expect(ids).toEqual(Array.from({ length: 100 }, (_, index) => `copy-${index * 2}`));
  });

  it('examines nothing outside the requested times', async () => {
    const after = encodeURIComponent(api.at(-60_000));
    const between = `&created_after=${after}&created_before=${encodeURIComponent(api.at(-20_000))}`;
    const first = await page(between);
    const second = await page(`${between}&cursor=${encodeURIComponent(first.next)}`);
    for (const read of [first, second]) expect(read.examined - read.rows).toBeLessThanOrEqual(1);
    expect([first.rows, second.rows]).toEqual([21, 11]);
  });
});
