import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WEEKDAYS } from '#control-plane/jobs/batch-calls/calling-hours.ts';
import type { TestUser } from '../../test-api.ts';
import { numbersToCall, openTestBatches, type TestBatches } from './test-batches.ts';

const [A, B, C] = numbersToCall(3) as [string, string, string];

let api: TestBatches;
let user: TestUser;
beforeAll(async () => {
  api = await openTestBatches({ LIMIT_BATCHES: '10' });
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

function formOf(csv: string, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  const all = {
    agent_id: api.agentId(),
    phone_number_id: api.numberId(),
    schedule: '{"calling_hours":null}',
    ...fields,
  };
  for (const [name, value] of Object.entries(all)) form.set(name, value);
  form.set('recipients', new File([csv], 'guests.csv', { type: 'text/csv' }));
  return form;
}
const upload = (csv: string, fields?: Record<string, string>) => send(formOf(csv, fields));
async function send(form: FormData) {
  const request = new Request('http://parley', { method: 'POST', body: form });
  return api.request('POST', '/v1/agent/batch-calls', {
    key: user.key,
    raw: Buffer.from(await request.arrayBuffer()),
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
  });
}
const create = (over: Record<string, unknown>) =>
  api.request('POST', '/v1/agent/batch-calls', {
    key: user.key,
    body: {
      agent_id: api.agentId(),
      phone_number_id: api.numberId(),
      recipients: [{ to_number: A }],
      ...over,
    },
  });
const stored = async () => [
  await api.context.models.batchCalls.countDocuments({ team_id: user.teamId }),
  await api.context.models.batchRows.countDocuments({ team_id: user.teamId }),
];

describe('POST /v1/agent/batch-calls', () => {
  it('accepts a file and keeps the order of its rows', async () => {
    const { status, body } = await upload(`to_number,name\n${A},Ada\n${B},Bo\n`, {
      name: 'Guests',
      pacing: '{"concurrent_calls":2}',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'Guests',
      status: 'scheduled',
      row_count: 2,
      counts: { waiting: 2, calling: 0 },
      pacing: { concurrent_calls: 2, calls_per_minute: 30 },
      retry: { on: ['busy', 'no_answer'], max_attempts: 1 },
      schedule: { start_at: null, calling_hours: null },
    });
    const rows = await api.rows(body.batch_call_id);
    expect(
      rows.map(({ line, to_number, dynamic_variables }) => [line, to_number, dynamic_variables]),
    ).toEqual([
      [2, A, { name: 'Ada' }],
      [3, B, { name: 'Bo' }],
    ]);
  });

  it('accepts a list sent as a text field, and form parts of type application/json', async () => {
    const form = formOf('');
    form.set('recipients', `to_number\n${A}`);
    form.set('retry', new Blob(['{"max_attempts":2}'], { type: 'application/json' }));
    const { status, body } = await send(form);
    expect([status, body.row_count, body.retry?.max_attempts]).toEqual([201, 1, 2]);
    const boundary = 'parley';
    const parts = [
      ...Object.entries({
        agent_id: api.agentId(),
        phone_number_id: api.numberId(),
        recipients: `to_number\n${A}`,
      }).map(([name, value]) => [`name="${name}"`, value]),
      ['name="schedule"\r\nContent-Type: application/json', '{"calling_hours":null}'],
    ].map(([head, value]) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`);
    const typed = await api.request('POST', '/v1/agent/batch-calls', {
      key: user.key,
      raw: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    });
    expect([typed.status, typed.body.schedule]).toEqual([201, { start_at: null, calling_hours: null }]);
  });

  it('rejects a second list and an oversized list instead of skipping recipients', async () => {
    const twice = formOf(`to_number\n${A}`);
    twice.append('recipients', new File([`to_number\n${B}`], 'more.csv', { type: 'text/csv' }));
    const refused = await send(twice);
    expect([refused.status, refused.body[0].msg]).toEqual([
      422,
      'Value error, there is more than one list: send them as one file',
    ]);
    const named = formOf(`to_number\n${A}`, { name: 'one' });
    named.append('name', 'two');
    expect((await send(named)).status).toBe(422);
    const large = `to_number,note\n${A},${'x'.repeat(9 * 1_048_576)}`;
    const asText = formOf('');
    asText.set('recipients', large);
    expect([(await upload(large)).status, (await send(asText)).status]).toEqual([413, 413]);
    expect(await stored()).toEqual([0, 0]);
  });

  it('accepts JSON, with calling hours from 09:00 to 20:00 by default', async () => {
    const { body } = await create({
      recipients: [{ to_number: A, metadata: { order: 7 }, end_user_id: 'u1' }],
    });
    expect(body.schedule.calling_hours).toEqual({
      start: '09:00',
      end: '20:00',
      days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
    });
    const [row] = await api.rows(body.batch_call_id);
    expect(row).toMatchObject({
      line: 1,
      metadata: { order: 7 },
      end_user_id: 'u1',
      state: 'waiting',
      attempts: [],
      session_id: null,
    });
  });

  it('reports every row that cannot be called with its line and reason, and creates nothing', async () => {
    const hosted = await api.context.models.numbers.findById(api.numberId()).lean();
    const { status, body } = await upload(
      `to_number,name\n${A},fine\n14155550123,no plus\n${A},again\n+4915112345678,country\n+19005550123,` +
        `premium\n${hosted?.phone_number},hosted here\n`,
    );
    expect(status).toBe(422);
    expect(
      body.map(({ ctx, loc, msg }: { ctx: { line: number }; loc: string[]; msg: string }) => [
        ctx.line,
        loc,
        msg,
      ]),
    ).toEqual([
      [
        3,
        ['body', 'recipients', '1', 'to_number'],
        'Value error, line 3: to_number is not a valid E.164 number',
      ],
      [4, ['body', 'recipients', '2', 'to_number'], 'Value error, line 4: has the same number as line 2'],
      [
        5,
        ['body', 'recipients', '3', 'to_number'],
        'Value error, line 5: Calls to this country are not enabled',
      ],
      [
        6,
        ['body', 'recipients', '4', 'to_number'],
        'Value error, line 6: Premium and service numbers cannot be called',
      ],
      [
        7,
        ['body', 'recipients', '5', 'to_number'],
        'Value error, line 7: Numbers hosted on this platform cannot be called',
      ],
    ]);
    expect(await stored()).toEqual([0, 0]);
  });

  it('reports unreadable and uncallable rows in one answer, in file order', async () => {
    const { status, body } = await upload(
      `to_number,metadata\n${A},no json\n+19005550123,{}\n${B},{},more\n${C},{}\n`,
    );
    expect(status).toBe(422);
    expect(body.map(({ ctx }: { ctx: { line: number } }) => ctx.line)).toEqual([2, 3, 4]);
    expect((await upload(`to_number\n${A},more\n${B}\n`, { agent_id: 'nobody' })).status).toBe(422);
    expect((await upload(`to_number\n${B}\n`, { agent_id: 'nobody' })).status).toBe(404);
    expect(await stored()).toEqual([0, 0]);
  });

  it('rejects a row whose zones never share a calling hour', async () => {
    const hours = { start: '09:00', end: '10:00' };
    // The number has no US area code, and 09:00 to 10:00 in Honolulu and New York never overlap.
    const { body } = await create({
      recipients: [{ to_number: A }, { to_number: '+15550100042' }],
      schedule: { calling_hours: hours },
    });
    expect(body).toHaveLength(1);
    expect(body[0].msg).toMatch(
      /^Value error, line 2: no time of day is within the calling hours in all its time zones \(.*Pacific\/Honolulu/,
    );
  });

  it('reports every invalid entry of a long JSON list, as for a file', async () => {
    const recipients = Array.from({ length: 1_200 }, (_, index) => ({
      to_number: A,
      metadata: index % 2 === 0 ? {} : 'none',
    }));
    const { status, body } = await create({ recipients });
    expect([status, body.length]).toEqual([422, 600]);
    expect(body.at(-1)).toEqual({
      type: 'record_type',
      loc: ['body', 'recipients', '1199', 'metadata'],
      msg: 'Input should be a valid record',
      ctx: { expected: 'record' },
      in: 'body',
    });
    expect(
      (await create({ recipients: Array.from({ length: 10_001 }, () => ({ to_number: A })) })).body,
    ).toMatchObject([
      {
        loc: ['body', 'recipients'],
        msg: 'Value error, at most 10000 rows: split them into several batches',
      },
    ]);
    expect(await stored()).toEqual([0, 0]);
  });

  it('rejects contradictory or empty settings', async () => {
    const fields = async (over: Record<string, unknown>) => {
      const { status, body } = await create(over);
      return [status, ...body.map(({ loc }: { loc: string[] }) => loc.slice(1).join('.'))];
    };
    expect(await fields({ recipients: [] })).toEqual([422, 'recipients']);
    expect(await fields({ schedule: { calling_hours: { start: '20:00', end: '09:00' } } })).toEqual([
      422,
      'schedule.calling_hours',
    ]);
    expect(await fields({ schedule: { calling_hours: { days: [] } } })).toEqual([
      422,
      'schedule.calling_hours.days',
    ]);
    expect(await fields({ pacing: { concurrent_calls: 0 } })).toEqual([422, 'pacing.concurrent_calls']);
    expect(await fields({ retry: { max_attempts: 6 } })).toEqual([422, 'retry.max_attempts']);
    expect(await fields({ opt_out: {} })).toEqual([422, 'opt_out']);
    expect(await fields({ disclosure: '{{system.nothing}}' })).toEqual([422, 'disclosure']);
    expect((await upload(`to_number\n${A}`, { retry: 'often' })).body[0]).toMatchObject({
      loc: ['body', 'retry'],
      msg: 'Value error, must be JSON',
    });
    expect(await stored()).toEqual([0, 0]);
  });

  it('rejects agent and number for the same reasons as a single call', async () => {
    expect((await create({ agent_id: 'missing' })).body.reason).toBe('agent_not_found');
    expect((await create({ phone_number_id: 'missing' })).body.reason).toBe('number_not_found');
  });
});

describe('batches', () => {
  it('are listed newest first, page by page, to their own team only', async () => {
    const ids: string[] = [];
    for (const number of [A, B, C]) {
      ids.unshift((await api.start([number])).batch_call_id);
      await api.clock.advance(1_000);
    }
    const list = async (query: string, key = user.key) =>
      (await api.request('GET', `/v1/agent/batch-calls?${query}`, { key })).body;
    const first = await list('page_size=2');
    expect(first.batch_calls.map(({ batch_call_id }: { batch_call_id: string }) => batch_call_id)).toEqual(
      ids.slice(0, 2),
    );
    const second = await list(`page_size=2&cursor=${first.next_cursor}`);
    expect([second.batch_calls[0].batch_call_id, second.has_more]).toEqual([ids[2], false]);
    expect((await list('status=completed')).batch_calls).toEqual([]);
    const other = await api.createUser();
    expect((await list('', other.key)).batch_calls).toEqual([]);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/rows'],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const)
      expect(
        (await api.request(method, `/v1/agent/batch-calls/${ids[0]}${path}`, { key: other.key })).status,
      ).toBe(404);
  });

  it('list their rows page by page and by state', async () => {
    const { batch_call_id: id } = await api.start(numbersToCall(5), { pacing: { concurrent_calls: 2 } });
    await api.pass();
    const rows = async (query: string) =>
      (await api.request('GET', `/v1/agent/batch-calls/${id}/rows?${query}`, { key: user.key })).body;
    const lines = ({ rows }: { rows: { line: number }[] }) => rows.map(({ line }) => line);
    const first = await rows('page_size=3');
    expect(lines(first)).toEqual([1, 2, 3]);
    expect(lines(await rows(`page_size=3&cursor=${first.next_cursor}`))).toEqual([4, 5]);
    expect(lines(await rows('state=calling'))).toEqual([1, 2]);
    expect((await rows('state=waiting&include_total=true')).total).toBe(3);
  });

  it('report on each row when its calling hours open', async () => {
    const inTwoDays = WEEKDAYS[(new Date(api.at()).getUTCDay() + 1) % 7] as string;
    const { batch_call_id: id, opens_at } = await api.start([A], {
      schedule: { calling_hours: { days: [inTwoDays], start: '10:30' } },
    });
    const [row] = await api.rows(id);
    const format = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'America/Los_Angeles',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
    expect(row.next_at).toBe(opens_at);
    expect(format.format(new Date(row.next_at)).toLowerCase()).toBe(`${inTwoDays} 10:30`);
  });

  it('report rows as due when the batch starts', async () => {
    const start_at = api.at(86_400_000);
    const [row] = await api.rows(
      (await api.start([A], { schedule: { calling_hours: null, start_at } })).batch_call_id,
    );
    expect(row.next_at).toBe(start_at);
  });

  it('are deleted with their rows once they have finished', async () => {
    const { batch_call_id: id } = await api.start([A]);
    const remove = () => api.request('DELETE', `/v1/agent/batch-calls/${id}`, { key: user.key });
    expect((await remove()).status).toBe(409);
    await api.request('POST', `/v1/agent/batch-calls/${id}/cancel`, { key: user.key });
    await api.pass();
    expect((await remove()).status).toBe(204);
    expect(await stored()).toEqual([0, 0]);
  });

  it('are limited per team, and deleting one makes room at once', async () => {
    const later = () => create({ schedule: { calling_hours: null, start_at: api.at(86_400_000) } });
    const made = await Promise.all(Array.from({ length: 10 }, later));
    expect((await later()).body.reason).toBe('quota_reached');
    const url = `/v1/agent/batch-calls/${made[0]?.body.batch_call_id}`;
    await api.request('POST', `${url}/cancel`, { key: user.key });
    await api.pass();
    await api.request('DELETE', url, { key: user.key });
    expect((await later()).status).toBe(201);
  });

  it('do not call people whose data was erased', async () => {
    const { batch_call_id: id } = await api.start([], {
      recipients: [{ to_number: A, end_user_id: 'u1' }, { to_number: B }],
    });
    await api.request('POST', '/v1/agent/erasures', { key: user.key, body: { end_user_id: 'u1' } });
    await api.pass();
    expect(api.dialled()).toEqual([B]);
    expect((await api.rows(id))[0]).toMatchObject({ state: 'cancelled', to_number: '', end_user_id: null });
  });

  it('do not call a person again whose data was erased during a call', async () => {
    const retry = { on: ['busy'], max_attempts: 2, delay_seconds: 60 };
    const { batch_call_id: id } = await api.start([], {
      recipients: [{ to_number: A, end_user_id: 'u1' }],
      retry,
    });
    await api.pass();
    const sessionId = api.ringingAt(A);
    await api.request('POST', '/v1/agent/erasures', { key: user.key, body: { end_user_id: 'u1' } });
    await api.finish(A, 'busy');
    await api.pass();
    expect((await api.rows(id))[0]).toMatchObject({
      state: 'busy',
      to_number: '',
      attempts: [{ session_id: sessionId, outcome: 'busy' }],
    });
    expect((await api.batch(id)).status).toBe('completed');
  });
});
