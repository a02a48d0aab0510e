import { describe, expect, it } from 'vitest';
import {
  ApiConnectionError,
  ApiTimeoutError,
  InvalidRequestError,
  NotFoundError,
  Parley,
  type ServerEvent,
  TooManyRequestsError,
} from '#libraries/typescript/src/index.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { refusal, type ScriptedAnswer, scriptedFetch } from './scripted-fetch.ts';

const CALL = { agent_id: 'a', phone_number_id: 'n', to_number: '+12125550123' };
const created = () => Response.json({ session_id: 's', status: 'queued' }, { status: 201 });
const gone = () => new Response(null, { status: 204 });

/** A client whose requests get these answers. Its random numbers are 0, so waits are half of the usual. */
function client(...answers: ScriptedAnswer[]) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const script = scriptedFetch(...answers);
  let keys = 0;
  const parley = new Parley({
    apiKey: 'pk_1',
    baseUrl: 'https://parley.example.com/',
    fetch: script.fetch,
    clock,
    random: () => 0,
    newKey: () => `key-${++keys}`,
  });
  return { clock, parley, sent: script.sent };
}

/** How many requests were sent by each of these times, ms. */
async function countBy(
  times: readonly number[],
  { clock, sent }: Pick<ReturnType<typeof client>, 'clock' | 'sent'>,
) {
  const counts: number[] = [];
  for (const time of times) {
    await clock.advance(time - clock.now());
    counts.push(sent.length);
  }
  return counts;
}

/** The error of a request that is expected to fail. */
function failure(request: Promise<unknown>): Promise<unknown> {
  return request.then(
    () => expect.unreachable('the request succeeded'),
    (error: unknown) => error,
  );
}

describe('a request of the TypeScript library', () => {
  it('has the key, the ids and the query in the places of the route', async () => {
    const { parley, sent } = client(Response.json({ deliveries: [], has_more: false }));
    await parley.sessions.listDeliveries('a/b ?', { page_size: 2, include_total: true }).page();
    expect(sent[0]?.url).toBe(
      'https://parley.example.com/v1/agent/sessions/a%2Fb%20%3F/deliveries?page_size=2&include_total=true',
    );
    expect(sent[0]?.headers.get('authorization')).toBe('Bearer pk_1');
  });

  it.each(['', '.', '..'])('is not sent if an id is %j, which would be another route', async (id) => {
    const { parley, sent } = client();
    expect(() => parley.agents.delete(id)).toThrow(TypeError);
    expect(sent).toEqual([]);
  });

  it('is repeated after a 503, later each time, and then fails', async () => {
    const test = client(refusal(503), refusal(503), refusal(503));
    const error = failure(test.parley.agents.get('a'));
    expect(await countBy([0, 249, 250, 749, 750], test)).toEqual([1, 1, 2, 2, 3]);
    expect(await error).toMatchObject({ name: 'ServerError', status: 503 });
    expect(test.clock.pendingTimers).toBe(0);
  });

  it.each([
    ['seconds', '7'],
    ['a date', 'Thu, 01 Jan 2026 00:00:07 GMT'],
  ])('waits as long as Retry-After says, in %s', async (_form, header) => {
    const test = client(refusal(429, null, { 'retry-after': header }), Response.json({ agent_id: 'a' }));
    const agent = test.parley.agents.get('a');
    expect(await countBy([6999, 7000], test)).toEqual([1, 2]);
    expect(await agent).toEqual({ agent_id: 'a' });
  });

  it('fails at once if Retry-After is longer than a minute', async () => {
    const { parley } = client(refusal(429, null, { 'retry-after': '61' }));
    const error = await failure(parley.agents.get('a'));
    expect(error).toBeInstanceOf(TooManyRequestsError);
    expect(error).toMatchObject({ retryAfterMs: 61_000 });
  });

  it.each([
    ['without an answer', 'lost'],
    ['after a 503', refusal(503)],
  ] as const)('that would create a second thing is not repeated %s', async (_case, answer) => {
    const { parley, sent } = client(answer);
    await failure(parley.keys.create({ name: 'Website' }));
    expect(sent).toHaveLength(1);
  });

  it('without an answer says why there is none', async () => {
    const { parley } = client('lost');
    const error = await failure(parley.agents.get('a', { maxRetries: 0 }));
    expect(error).toMatchObject({ message: 'no usable answer: connect ECONNREFUSED' });
  });

  it('that creates something is repeated after a 429, which has created nothing', async () => {
    const test = client(refusal(429), Response.json({ agent_id: 'a' }, { status: 201 }));
    const agent = test.parley.agents.create({ name: 'Front desk' });
    expect(await countBy([250], test)).toEqual([2]);
    expect(await agent).toEqual({ agent_id: 'a' });
  });

  it('that creates something is repeated without an answer, with the same idempotency key', async () => {
    const test = client('lost', refusal(503), Response.json({ agent_id: 'a' }, { status: 201 }));
    const agent = test.parley.agents.create({ name: 'Front desk' });
    expect(await countBy([250, 750], test)).toEqual([2, 3]);
    expect(await agent).toEqual({ agent_id: 'a' });
    const keys = test.sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toEqual(['key-1', 'key-1', 'key-1']);
  });

  it('that places a call has one idempotency key in all its attempts, and another in the next call', async () => {
    const test = client('lost', refusal(409, 'idempotency_key_conflict'), created(), created());
    const call = test.parley.phoneCalls.create(CALL);
    expect(await countBy([250, 750], test)).toEqual([2, 3]);
    expect(await call).toEqual({ session_id: 's', status: 'queued' });
    await test.parley.phoneCalls.create(CALL);
    const keys = test.sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toEqual(['key-1', 'key-1', 'key-1', 'key-2']);
  });

  it('has the idempotency key of its caller, and none where the route has none', async () => {
    const { parley, sent } = client(created(), Response.json({}, { status: 201 }));
    await parley.phoneCalls.create(CALL, { idempotencyKey: 'order-1042' });
    await parley.keys.create({ name: 'Website' }, { idempotencyKey: 'order-1042' });
    expect(sent.map(({ headers }) => headers.get('idempotency-key'))).toEqual(['order-1042', null]);
  });

  it('that deletes succeeds if its first answer was lost and the thing is gone', async () => {
    const test = client('lost', refusal(404));
    const deleted = test.parley.agents.delete('a');
    await test.clock.advance(250);
    expect(await deleted).toBeUndefined();
  });

  it('that deletes and answers with more than success fails if the thing is gone', async () => {
    const test = client('lost', refusal(404));
    const error = failure(test.parley.operator.stopSpeechModelDownload('m'));
    await test.clock.advance(250);
    expect(await error).toBeInstanceOf(NotFoundError);
  });

  it('that deletes fails if nothing of that name was there', async () => {
    const test = client(refusal(429), refusal(404));
    const error = failure(test.parley.agents.delete('a'));
    await test.clock.advance(250);
    expect(await error).toBeInstanceOf(NotFoundError);
  });

  it('without an answer in time is repeated, and then fails with ApiTimeoutError', async () => {
    const test = client('silent', 'silent');
    const error = failure(test.parley.agents.get('a', { timeoutMs: 1000, maxRetries: 1 }));
    expect(await countBy([1249, 1250, 2249], test)).toEqual([1, 2, 2]);
    await test.clock.advance(1);
    expect(await error).toBeInstanceOf(ApiTimeoutError);
  });

  it('that its caller gives up rejects with the caller’s reason and is not repeated', async () => {
    const test = client('silent');
    const caller = new AbortController();
    const error = failure(test.parley.agents.get('a', { signal: caller.signal }));
    await test.clock.advance(10);
    caller.abort(new Error('enough'));
    expect(await error).toMatchObject({ message: 'enough' });
    expect([test.sent.length, test.clock.pendingTimers]).toEqual([1, 0]);
  });

  it('whose answer is no JSON fails as if there were none', async () => {
    const { parley } = client(new Response('<html>', { status: 200 }));
    expect(await failure(parley.agents.get('a', { maxRetries: 0 }))).toBeInstanceOf(ApiConnectionError);
  });

  it('that was refused has status, reason, request id and fields in its error', async () => {
    const field = { type: 'missing', loc: ['body', 'name'], msg: 'Field required', ctx: {}, in: 'body' };
    const { parley } = client(
      Response.json([field], { status: 422, headers: { 'x-request-id': 'r1' } }),
      refusal(422, 'destination_not_allowed'),
    );
    const error = await failure(parley.agents.create({ name: '' }));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({
      message: '422: body.name: Field required',
      requestId: 'r1',
      reason: null,
      fields: [field],
    });
    expect(await failure(parley.phoneCalls.create(CALL))).toMatchObject({
      reason: 'destination_not_allowed',
      fields: [],
    });
  });

  it('for a file goes to its address without the key', async () => {
    const { parley, sent } = client(new Response('sound'));
    const headers = { range: 'bytes=0-4' };
    const file = await parley.download('https://bucket.example.com/human.wav?signed', { headers });
    expect(await file.text()).toBe('sound');
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual(headers);
  });

  it('without a body is answered by nothing', async () => {
    const { parley, sent } = client(gone());
    expect(await parley.sessions.end('s')).toBeUndefined();
    expect(sent[0]).toMatchObject({ method: 'POST', body: null });
  });
});

describe('the key of the TypeScript library', () => {
  it('is used without the spaces and line breaks around it', async () => {
    const script = scriptedFetch(Response.json({}));
    await new Parley({ apiKey: ' pk_1\n', fetch: script.fetch }).account.get();
    expect(script.sent[0]?.headers.get('authorization')).toBe('Bearer pk_1');
  });

  it.each(['pk_1\nX-A: b', 'pk_ü', 'pk 1'])('is refused if it is %j, and is not in the message', (apiKey) => {
    expect(() => new Parley({ apiKey })).toThrow(/^the key has a character that no key has$/);
  });
});

describe('a list of the TypeScript library', () => {
  const page = (ids: readonly string[], next_cursor: string | null) =>
    Response.json({
      agents: ids.map((agent_id) => ({ agent_id })),
      has_more: next_cursor !== null,
      next_cursor,
    });

  it('reads page after page by cursor while it is iterated', async () => {
    const { parley, sent } = client(page(['a', 'b'], 'next'), page(['c'], null));
    const ids: string[] = [];
    for await (const { agent_id } of parley.agents.list({ page_size: 2, page: 1 })) ids.push(agent_id);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(sent.map(({ url }) => new URL(url).search)).toEqual([
      '?page_size=2&page=1',
      '?page_size=2&cursor=next',
    ]);
  });

  it('reads no page that is not needed', async () => {
    const { parley, sent } = client(page(['a', 'b'], 'next'));
    for await (const { agent_id } of parley.agents.list()) if (agent_id === 'b') break;
    expect(sent).toHaveLength(1);
  });

  it('without cursors is read by the number of the page', async () => {
    const { parley, sent } = client(
      Response.json({ items: [{ _id: 'a' }], has_more: true }),
      Response.json({ items: [{ _id: 'b' }], has_more: false }),
    );
    const ids: string[] = [];
    for await (const { _id } of parley.voices.list({ page_size: 1 })) ids.push(_id);
    expect(ids).toEqual(['a', 'b']);
    expect(sent.map(({ url }) => new URL(url).search)).toEqual([
      '?page_size=1',
      '?page_size=1&page_number=2',
    ]);
  });
});

describe('events of the TypeScript library', () => {
  const text = (content: string) => new Response(new TextEncoder().encode(content));

  /** The next events of a stream, after which it is closed. */
  async function first(count: number, stream: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> {
    const read: ServerEvent[] = [];
    for await (const event of stream) if (read.push(event) === count) break;
    return read;
  }

  it('are whole, however the stream is cut, and comments are left out', async () => {
    const bytes = new TextEncoder().encode(
      ': here\n\nevent: session\r\ndata: {"name":"é\u2028"}\r\n\r\ndata: 1\n\ndata: 2',
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const { parley } = client(new Response(body));
    expect(await first(2, parley.events.stream())).toEqual([
      { event: 'session', data: { name: 'é\u2028' } },
      { event: 'message', data: 1 },
    ]);
  });

  it('go on in a new stream after one that ends or breaks off', async () => {
    let pulls = 0;
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulls++ > 0) controller.error(new TypeError('terminated'));
        else controller.enqueue(new TextEncoder().encode('data: 2\n\ndata: 3'));
      },
    });
    const test = client(text('data: 1\n\n'), new Response(broken), 'lost', text('data: 4\n\n'));
    const read = first(3, test.parley.events.stream());
    expect(await countBy([249, 250, 500, 750], test)).toEqual([1, 2, 3, 4]);
    expect((await read).map(({ data }) => data)).toEqual([1, 2, 4]);
  });

  it('end with the caller’s signal, also between two streams', async () => {
    const test = client(text('data: 1\n\n'));
    const caller = new AbortController();
    const read = failure(first(2, test.parley.events.stream({ signal: caller.signal })));
    await test.clock.advance(10);
    caller.abort(new Error('enough'));
    expect(await read).toMatchObject({ message: 'enough' });
    expect([test.sent.length, test.clock.pendingTimers]).toEqual([1, 0]);
  });

  it('close the connection when they are no longer read', async () => {
    let isOpen = true;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
      cancel() {
        isOpen = false;
      },
    });
    await first(1, client(new Response(body)).parley.events.stream());
    expect(isOpen).toBe(false);
  });

  it('that are no JSON fail, and are not asked for again', async () => {
    const { parley, sent } = client(text('data: {\n\n'));
    expect(await failure(first(1, parley.events.stream()))).toBeInstanceOf(ApiConnectionError);
    expect(sent).toHaveLength(1);
  });

  it('of a synthesis that breaks off fail: a second one would begin anew', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new TypeError('terminated')),
    });
    const { parley } = client(new Response(body));
    const speech = parley.speech.synthesizeWithTimestamps({ text: 'Hello' });
    expect(await failure(first(1, speech))).toBeInstanceOf(ApiConnectionError);
  });
});
