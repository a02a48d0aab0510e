import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#config/limits.ts';
import { callPage } from '#control-plane/calls/recordings/call-page.ts';
import { callFile, partsOf } from '#control-plane/calls/recordings/write-call-file.ts';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import { keyIdOf } from '#protocol/call-bytes.ts';
import { KEYS_PATH, publishedKeys, readCallFile, splitCallFile } from '#protocol/call-file.ts';
import { openTestCalls } from '../../test-calls.ts';
import { ExportedCalls, HOSTILE } from './exported-call.ts';

let calls: ExportedCalls;
let id: string;
let file: string;

beforeAll(async () => {
  calls = await ExportedCalls.open();
  id = await calls.make();
  file = await calls.fileOf(id);
});
afterAll(() => calls.api.close());

async function verified(text: string, trusted: readonly string[] | null = null) {
  const split = splitCallFile(text);
  if (!split) throw new Error('no call file');
  return readCallFile(split, trusted);
}

/** Whether a changed file is still accepted. */
async function isAccepted(text: string): Promise<boolean> {
  const split = splitCallFile(text);
  return split !== null && (await readCallFile(split)).problems.length === 0;
}

const linesOf = (text: string) => splitCallFile(text)?.parts.split('\n') ?? [];
const textOf = (content: Uint8Array | null | undefined) => content && Buffer.from(content).toString('utf8');

describe('an exported call', () => {
  it('has the sound of both sides, the transcript, the latencies and the flight log, signed', async () => {
    const { statement, parts, problems } = await verified(file);
    expect(problems).toEqual([]);
    expect(parts.map(({ label }) => ('side' in label ? `${label.kind} ${label.side}` : label.kind))).toEqual([
      ...['call', 'numbers', 'line', 'line', 'line', 'turns', 'inputs', 'inputs'],
      ...['sound agent', 'sound user', 'sound user', 'chain'],
    ]);
    expect(statement).toMatchObject({ session_id: id, signed_at: calls.api.at() });
    const path = `/v1/agent/sessions/${id}/flight-log`;
    const log = await calls.api.request('GET', path, { key: calls.user.key });
    expect(`${textOf(parts[6]?.content)}${textOf(parts[7]?.content)}`).toBe(log.text);
    expect(JSON.parse(textOf(parts[4]?.content) ?? '')).toMatchObject({ content: HOSTILE });
  });

  it('is signed with a key that the deployment publishes, and with no other', async () => {
    const { keys } = publishedKeys.parse((await calls.api.request('GET', KEYS_PATH)).body);
    expect(keys.map(({ kid }) => kid)).toEqual([await keyIdOf(keys[0]?.x ?? '')]);
    expect((await verified(file, [keys[0]?.kid ?? ''])).problems).toEqual([]);
    expect((await verified(file, ['another'])).problems).toEqual([
      expect.stringMatching(/^It was signed with .* none of the given ones/),
      expect.stringMatching(/^The chain was signed with .* none of the given ones/),
    ]);
  });

  it('contains nothing that was said as markup or script', () => {
    const { parts, seal } = splitCallFile(file) ?? {};
    expect(`${parts}${seal}`).toMatch(/^[A-Za-z0-9+/=.\n]+$/);
    expect(file).not.toContain('onerror="');
  });

  it('does not verify once one bit of it is changed, wherever it is', async () => {
    const { parts, seal, shell } = splitCallFile(file) ?? { parts: '', seal: '', shell: null };
    const partsAt = file.indexOf(parts);
    const sealAt = file.indexOf(seal);
    const before = shell?.before.length ?? 0;
    const spread = (from: number, to: number, count: number) =>
      Array.from({ length: count }, (_, index) => from + Math.floor(((to - from) * index) / count));
    const places = [
      ...spread(0, before, 20),
      ...spread(before, partsAt, 10),
      ...spread(partsAt, partsAt + parts.length, 120),
      ...spread(partsAt + parts.length, sealAt, 10),
      ...spread(sealAt, sealAt + seal.length, 120),
      ...spread(sealAt + seal.length, file.length, 20),
    ];
    const accepted: string[] = [];
    for (const [index, place] of places.entries()) {
      const changed = String.fromCharCode(file.charCodeAt(place) ^ (1 << (index % 7)));
      if (await isAccepted(`${file.slice(0, place)}${changed}${file.slice(place + 1)}`))
        accepted.push(`bit ${index % 7} of character ${place}`);
    }
    expect(accepted).toEqual([]);
  });

  it('says which part was changed', async () => {
    const lines = linesOf(file);
    const [label = '', salt = '', content = ''] = lines[3]?.split('.') ?? [];
    const other = Buffer.from(Buffer.from(content, 'base64').toString().replace('noon', 'nine'));
    const { problems, parts } = await verified(
      file.replace(lines[3] ?? '', `${label}.${salt}.${other.toString('base64')}`),
    );
    expect(problems).toEqual(['Part 4 (line 2 of the transcript) was changed']);
    expect(parts.filter(({ isAsSigned }) => !isAsSigned)).toHaveLength(1);
  });
});

describe('a redacted file', () => {
  it('leaves out what it is asked to, and the rest still verifies', async () => {
    const text = await calls.fileOf(id, ['caller_audio', 'item:3', 'numbers']);
    const { parts, problems } = await verified(text);
    expect(problems).toEqual([]);
    expect(parts.filter(({ content }) => content === null).map(({ label }) => label)).toMatchObject([
      { kind: 'numbers' },
      { kind: 'line', entry: 2 },
      // They repeat what was said.
      { kind: 'inputs' },
      { kind: 'inputs' },
      { kind: 'sound', side: 'user' },
      { kind: 'sound', side: 'user' },
    ]);
    expect(Buffer.from(text.replaceAll(/[^A-Za-z0-9+/]/g, ''), 'base64').includes('taken')).toBe(false);
  });

  it('has the same digests as the whole file, so that both are seen to be of one call', async () => {
    const redacted = await verified(await calls.fileOf(id, ['transcript', 'agent_audio']));
    expect(redacted.statement?.parts).toEqual((await verified(file)).statement?.parts);
  });

  it('can be made from a whole file by leaving salt and content out', async () => {
    const [, whole = ''] = linesOf(file);
    const [, redacted = ''] = linesOf(await calls.fileOf(id, ['numbers']));
    expect((await verified(file.replace(whole, redacted))).problems).toEqual([]);
  });

  it('cannot have a redacted part exchanged for one of another call, or for another of its own', async () => {
    const other = await calls.fileOf(await calls.make(2), ['numbers', 'transcript']);
    const mine = await calls.fileOf(id, ['numbers', 'transcript']);
    const redactedLines = (text: string) => linesOf(text).filter((line) => line.split('.').length === 2);
    const [numbers = '', first = '', second = ''] = redactedLines(mine);
    expect(await isAccepted(mine.replace(numbers, redactedLines(other)[0] ?? ''))).toBe(false);
    expect(await isAccepted(mine.replace(`${first}\n${second}`, `${second}\n${first}`))).toBe(false);
    expect(await isAccepted(mine.replace(`${first}\n`, ''))).toBe(false);
  });

  it('is refused for a line that the transcript does not have, and for an unknown part', async () => {
    expect((await calls.export(id, ['item:4'])).body).toMatchObject({
      status: 400,
      message: 'redact: the transcript has no item:4',
    });
    expect((await calls.export(id, ['weather'])).status).toBe(422);
  });
});

describe('the export of a call', () => {
  it('needs a key that was made for it, which only such a key or the operator can make', async () => {
    const refused = await calls.export(id, [], calls.user.key);
    expect([refused.status, refused.body.reason]).toEqual([403, 'call_export_refused']);
    const make = (key: string) =>
      calls.api.request('POST', '/v1/keys', { key, body: { name: 'second', may_export_calls: true } });
    expect((await make(calls.user.key)).body.reason).toBe('call_export_refused');
    const made = await make(calls.key);
    expect((await calls.export(id, [], made.body.api_key)).status).toBe(200);
    const { body } = await calls.api.request('GET', '/v1/keys', { key: calls.key });
    const rights = body.keys.map((key: { name: string; may_export_calls?: true }) => [
      key.name,
      key.may_export_calls,
    ]);
    expect(Object.fromEntries(rights)).toEqual({ second: true, exports: true, 'first key': undefined });
  });

  it('is written to the audit log, with who exported which session', async () => {
    await calls.api.clock.advance(1);
    await calls.export(id, ['numbers']);
    const { body } = await calls.api.request('GET', '/v1/agent/audit-log', { key: calls.user.key });
    expect(body.entries[0]).toMatchObject({
      action: 'POST /v1/agent/sessions/{session_id}/call-file',
      resource: 'sessions',
      resource_id: id,
      user_id: calls.user.userId,
      fields: ['redact'],
    });
  });

  it('is refused to other teams, while the call runs, and without anything stored', async () => {
    const other = await calls.api.createUser();
    expect((await calls.export(id, [], other.key)).status).toBe(404);
    const running = await calls.begin();
    expect((await calls.export(running)).status).toBe(409);
    await calls.end(running);
    const empty = await calls.export(running);
    expect([empty.status, empty.body.reason]).toEqual([404, 'call_not_recorded']);
  });

  it('is refused once the session was erased', async () => {
    const erased = await calls.make(3);
    await calls.api.request('POST', '/v1/agent/erasures', {
      key: calls.user.key,
      body: { end_user_id: 'guest-17' },
    });
    const { status, body } = await calls.export(erased);
    expect([status, body.reason]).toEqual([410, 'call_erased']);
  });
});

it('The file of a call that is erased while it is written ends without a signature', async () => {
  const page = await callPage();
  const own = await ExportedCalls.open();
  try {
    const { context } = own.api;
    const session = await loadSession(context, await own.make());
    if (!session || !page) throw new Error('no session, or no page');
    const call = { session, page, redactions: new Set<never>() };
    const parts = await partsOf(context, call);
    const written: string[] = [];
    const write = async () => {
      for await (const piece of callFile(context, call, parts)) {
        written.push(piece);
        if (written.length === 1)
          await own.api.request('POST', '/v1/agent/erasures', {
            key: own.user.key,
            body: { end_user_id: 'guest-17' },
          });
      }
    };
    await expect(write()).rejects.toThrow(/deleted|erased/);
    expect(splitCallFile(written.join(''))).toBeNull();
  } finally {
    await own.api.close();
  }
});

it('An account exports so many calls in a minute, and is told when to go on', async () => {
  const own = await ExportedCalls.open();
  try {
    const one = await own.make();
    const answers = [];
    for (let count = 0; count <= LIMITS.callFilesPerMinute; count++) answers.push(await own.export(one));
    expect(answers.slice(0, -1).map(({ status }) => status)).toEqual(
      Array(LIMITS.callFilesPerMinute).fill(200),
    );
    expect(answers.at(-1)).toMatchObject({ status: 429, body: { reason: 'too_many_a_minute' } });
  } finally {
    await own.api.close();
  }
});

it('A raised number of the key signs with another one, and keeps the earlier ones published', async () => {
  const api = await openTestCalls({ CALL_KEY_NUMBER: '3' });
  try {
    const { keys } = publishedKeys.parse((await api.request('GET', KEYS_PATH)).body);
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(3);
  } finally {
    await api.close();
  }
});
