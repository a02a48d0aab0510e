import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { getSegmentFile, listSegments, putStored } from '#control-plane/calls/recordings/recording-store.ts';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import { callSigner } from '#control-plane/calls/sessions/signing-keys.ts';
import { packLink, unpackLink } from '#control-plane/calls/sessions/stored-link.ts';
import { toBuffer } from '#control-plane/platform/store/models/session-model.ts';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import { keyIdOf } from '#protocol/call-bytes.ts';
import {
  KEYS_PATH,
  publishedKeys,
  type ReadCallFile,
  readCallFile,
  sealLine,
  splitCallFile,
  writePart,
} from '#protocol/call-file.ts';
import { signedInCall, signingTimes } from '#protocol/signing-times.ts';
import { openTestCalls } from '../../test-calls.ts';
import { ExportedCalls, packedPiece } from './exported-call.ts';

let calls: ExportedCalls;
beforeAll(async () => {
  calls = await ExportedCalls.open();
});
// An account may export some calls a minute.
beforeEach(() => calls.api.clock.advance(60_000));
afterAll(() => calls.api.close());

async function read(text: string, trusted: readonly string[] | null = null): Promise<ReadCallFile> {
  const split = splitCallFile(text);
  if (!split) throw new Error('no call file');
  return readCallFile(split, trusted);
}

/** The file of a call, verified. */
const exported = async (id: string, redact: readonly string[] = []) => read(await calls.fileOf(id, redact));

/** The kinds of the parts that were signed in the call, and of those that were signed at its export only. */
function kinds({ parts, chain }: ReadCallFile) {
  const named = parts
    .filter(({ label }) => label.kind !== 'chain')
    .map((part) => ({
      name: 'side' in part.label ? `${part.label.kind} ${part.label.side}` : part.label.kind,
      isInCall: chain !== null && signedInCall(part, chain) !== null,
    }));
  const of = (isInCall: boolean) => named.filter((one) => one.isInCall === isInCall).map(({ name }) => name);
  return { inCall: of(true), atExport: of(false) };
}

async function sessionOf(id: string) {
  const session = await loadSession(calls.api.context, id);
  if (!session) throw new Error('no session');
  return session;
}

/** As someone does who has the bucket and the keys of its contents, but not those that sign. */
async function storeOtherSound(id: string): Promise<void> {
  const session = await sessionOf(id);
  const segment = (await listSegments(calls.api.context, id)).find(({ role }) => role === 'user');
  if (!segment) throw new Error('no sound');
  const silence = encodeFlac(new Int16Array(segment.samples), segment.rateHz);
  await putStored(calls.api.context, session, segment, silence);
}

async function changeChain(id: string, update: object): Promise<void> {
  await calls.api.context.models.sessions.collection.updateOne({ _id: id } as never, update as never);
}

describe('a call', () => {
  it('is signed while it runs: its words, and each stretch that its worker has stored', async () => {
    const file = await exported(await calls.make());
    expect(file.problems).toEqual([]);
    expect(kinds(file)).toEqual({
      inCall: ['line', 'line', 'line', 'inputs', 'inputs', 'sound user', 'sound user'],
      // Of the agent's sound its worker, one of an earlier version, has told nothing.
      atExport: ['call', 'numbers', 'turns', 'sound agent'],
    });
  });

  it('is signed in links, each at its time, which continue each other', async () => {
    const id = await calls.begin();
    await calls.store(id, [calls.sound(id, 0)]);
    await calls.api.clock.advance(20_000);
    await calls.store(id, [calls.sound(id, 1)]);
    await calls.end(id);
    const { chain, problems } = await exported(id);
    const times = chain?.links.map(({ signedAt }) => Date.parse(signedAt)) ?? [];
    expect([problems, times.length]).toEqual([[], 2]);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
  });

  it('is signed with the keys that the deployment publishes, and with no other', async () => {
    const text = await calls.fileOf(await calls.make());
    const { keys } = publishedKeys.parse((await calls.api.request('GET', KEYS_PATH)).body);
    const { chain, problems } = await read(text, [keys[0]?.kid ?? '']);
    expect([chain?.keyIds, problems]).toEqual([[await keyIdOf(keys[0]?.x ?? '')], []]);
    expect((await read(text, ['another'])).problems).toContainEqual(
      expect.stringContaining('The chain was signed with the key'),
    );
  });

  it('is not signed twice for a report that is received again', async () => {
    const id = await calls.begin();
    await calls.store(id, [calls.sound(id, 0)]);
    const { epoch, last_seq: seq, worker } = await sessionOf(id);
    const report = { type: 'items' as const, items: [] };
    const outcome = await calls.api.sink.apply(
      [{ session_id: id, epoch, seq, report }],
      worker?.instance_id ?? '',
    );
    expect(outcome).toEqual({ outcome: 'stored', seq });
    expect((await sessionOf(id)).chain).toHaveLength(1);
  });

  it('has a chain that goes on with the worker that takes it over, which the file shows', async () => {
    const id = await calls.begin();
    await calls.store(id, [calls.sound(id, 0)]);
    const { api } = calls;
    api.dispatch.speaking.set(id, { text: 'At noon and', atMs: api.clock.wallTime() });
    api.dispatch.placement = { ...api.dispatch.placement, instanceId: 'worker-2' };
    await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
    api.dispatch.speaking.clear();
    await calls.store(id, [calls.sound(id, 0, 2)]);
    await calls.end(id);
    const { chain, problems } = await exported(id);
    expect(problems).toEqual([]);
    // The second one has what the caller had heard of the sentence in which the worker died.
    expect(chain?.links.map(({ epoch }) => epoch)).toEqual([1, 2, 2]);
  });

  it('has a chain that goes on at another replica, or after a restart, and with another key', async () => {
    const { database, models, credentials, dataKeys, blobs } = calls.api.context;
    const stored = { database: database as never, models, close: async () => undefined };
    const { clock } = calls.api;
    const over = { credentials, dataKeys, blobs, clock };
    const other = await openTestCalls({ CALL_KEY_NUMBER: '2' }, over, stored);
    try {
      const id = await calls.begin();
      for (const [segment, api] of [calls.api, other, calls.api].entries())
        await calls.store(id, [calls.sound(id, segment)], [], api);
      await calls.end(id);
      const published = publishedKeys.parse((await other.request('GET', KEYS_PATH)).body);
      const trusted = published.keys.map(({ kid }) => kid);
      const { chain, problems } = await read(await calls.fileOf(id), trusted);
      expect([problems, chain?.links.length, chain?.keyIds.length]).toEqual([[], 3, 2]);
    } finally {
      await other.close();
    }
  });

  it('whose worker was killed verifies up to the last stretch that it has stored', async () => {
    const id = await calls.begin();
    await calls.store(id, [calls.sound(id, 0), calls.sound(id, 1)]);
    const { head, bytes } = packedPiece(calls.sound(id, 2));
    await calls.storeUnnamed([{ head: { ...head, object: 2 }, bytes }]);
    await calls.end(id);
    const file = await exported(id);
    expect(file.problems).toEqual([]);
    expect(signingTimes(file)).toContainEqual(
      expect.objectContaining({ name: 'sound of the caller', inCall: 2, atExport: 1, missing: 0 }),
    );
  });

  it('keeps apart what was signed and what was not, also if both are in one object', async () => {
    const id = await calls.begin();
    const pieces = [0, 1, 2, 3].map((segment) => calls.sound(id, segment));
    await calls.store(id, pieces.slice(0, 1));
    await calls.store(id, pieces.slice(3));
    await calls.storeUnnamed(pieces.map(packedPiece));
    await calls.end(id);
    const file = await exported(id);
    const sound = file.parts.flatMap(({ label }) => (label.kind === 'sound' ? [label] : []));
    expect([file.problems, sound.map(({ piece, pieces, samples }) => [piece, pieces, samples])]).toEqual([
      [],
      [
        [0, 1, 8_000],
        [1, 2, 16_000],
        [3, 1, 8_000],
      ],
    ]);
  });
});

describe('after a call', () => {
  it('sound that was exchanged in the bucket is found', async () => {
    const id = await calls.make();
    await storeOtherSound(id);
    const { problems } = await exported(id);
    expect(problems).toContainEqual(
      expect.stringMatching(/^The sound of the caller is not what was signed in the call, on /),
    );
  });

  it('an object in the bucket of which a bit was changed is missing from the file, which says so', async () => {
    const id = await calls.make();
    const { blobs } = calls.api.context;
    for (const key of await blobs.list(`sessions/${id}/`)) {
      const bytes = Buffer.from((await blobs.get(key)) ?? []);
      if (!key.includes('/flight-log/') && !key.includes('/user-')) continue;
      bytes[bytes.length - 9] = (bytes.at(-9) ?? 0) ^ 1;
      await blobs.put(key, bytes);
    }
    const file = await exported(id);
    expect(file.problems).toEqual([]);
    expect(file.chain?.missing.map(({ label }) => label.kind)).toEqual([
      'inputs',
      'inputs',
      'sound',
      'sound',
    ]);
  });

  it('a link that was changed in the database is found', async () => {
    const id = await calls.make();
    const { chain: [first = Buffer.alloc(0)] = [] } = await sessionOf(id);
    const link = unpackLink(toBuffer(first));
    const changed = packLink({ ...link, adds: link.adds.slice(1) });
    await changeChain(id, { $set: { 'chain.0': changed } });
    expect((await exported(id)).problems).toContain(
      'The signature of the link 1 of the chain does not belong to it',
    );
  });

  it('a link of which the database has something else is found', async () => {
    const id = await calls.make();
    const { chain: [first = Buffer.alloc(0)] = [] } = await sessionOf(id);
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(500, 255), toBuffer(first).subarray(0, -1)]) {
      await changeChain(id, { $set: { 'chain.0': bytes } });
      expect((await exported(id)).problems).not.toEqual([]);
    }
  });

  it('a link that was deleted from the database is found', async () => {
    const id = await calls.begin();
    for (const segment of [0, 1]) await calls.store(id, [calls.sound(id, segment)]);
    await calls.end(id);
    await changeChain(id, { $pop: { chain: -1 } });
    expect((await exported(id)).problems).toContain(
      'The signature of the link 1 of the chain does not belong to it',
    );
  });

  it('a line cannot have other words beside the signed ones, even by one who has the key', async () => {
    const text = await calls.fileOf(await calls.make(), ['item:2']);
    const { parts = '', seal = '' } = splitCallFile(text) ?? {};
    const { statement, parts: signed } = await read(text);
    const label = signed[3]?.label;
    if (!label || !statement) throw new Error('no line');
    const content = Buffer.from(JSON.stringify({ type: 'message', content: 'At nine.' }));
    const part = { label, salt: Buffer.alloc(32), content, isRedacted: false };
    const { line, digest } = await writePart(part, statement.format);
    const forged = Buffer.from(JSON.stringify({ ...statement, parts: [...statement.parts, digest] }));
    const signer = callSigner(calls.api.context);
    const file = text.replace(parts, `${parts}${line}`).replace(seal, sealLine(forged, signer.sign(forged)));
    expect((await read(file)).problems).toEqual([
      expect.stringMatching(/^The line 4 of the transcript is not what was signed in the call/),
    ]);
  });

  it('a file verifies with what is redacted in it, and so does its chain', async () => {
    const id = await calls.make();
    const file = await exported(id, ['transcript', 'caller_audio', 'agent_audio', 'numbers']);
    expect([file.problems, file.chain?.missing]).toEqual([[], []]);
    expect(kinds(file)).toEqual(kinds(await exported(id)));
  });

  it('no bit of a link can be changed in a file', async () => {
    const text = await calls.fileOf(await calls.make());
    const line = splitCallFile(text)?.parts.split('\n').at(-2) ?? '';
    const at = text.indexOf(line);
    const accepted: number[] = [];
    for (let index = 0; index < 100; index++) {
      const place = at + Math.floor((line.length * index) / 100);
      const changed = String.fromCharCode(text.charCodeAt(place) ^ (1 << (index % 7)));
      const split = splitCallFile(`${text.slice(0, place)}${changed}${text.slice(place + 1)}`);
      if (split && (await readCallFile(split)).problems.length === 0) accepted.push(place);
    }
    expect(accepted).toEqual([]);
  });

  it('its digests are erased with it, and their salts with its key', async () => {
    const id = await calls.make();
    await calls.api.request('POST', '/v1/agent/erasures', {
      key: calls.user.key,
      body: { end_user_id: 'guest-17' },
    });
    const { chain, chain_head: head, wrapped_key: key } = await sessionOf(id);
    expect([chain, head, key]).toEqual([[], null, null]);
  });
});

describe('the end of the chain', () => {
  const path = (id: string) => `/v1/agent/sessions/${id}/call-chain`;
  const get = (id: string, key = calls.user.key) => calls.api.request('GET', path(id), { key });

  it('can be read while the call runs, and a later file contains it', async () => {
    const id = await calls.begin();
    expect((await get(id)).body).toMatchObject({ links: 0, digest: null, signature: null });
    await calls.store(id, [calls.sound(id, 0)]);
    const { body } = await get(id);
    await calls.store(id, [calls.sound(id, 1)]);
    await calls.end(id);
    const { chain } = await exported(id);
    expect([chain?.links.length, chain?.links[0]?.digest]).toEqual([2, body.digest]);
  });

  it('is shown to its own team only, and not once the call is erased', async () => {
    const id = await calls.make();
    const other = await calls.api.createUser();
    expect((await get(id, other.key)).status).toBe(404);
    await calls.api.request('POST', '/v1/agent/erasures', {
      key: calls.user.key,
      body: { end_user_id: 'guest-17' },
    });
    expect((await get(id)).body).toMatchObject({ status: 410, reason: 'call_erased' });
  });
});

describe('a call from before calls were signed while they ran', () => {
  it('is exported in the first format, which says when it was signed, and verifies', async () => {
    const id = await calls.makeEarlier();
    const { statement, chain, parts, problems } = await exported(id, ['item:1']);
    expect([statement?.format, chain, problems]).toEqual(['parley-call/1', null, []]);
    expect(parts.map(({ label }) => label.kind)).toEqual([
      ...['call', 'numbers', 'item', 'item', 'item', 'turns', 'flight_log', 'audio'],
    ]);
  });

  it('has no end of a chain', async () => {
    const id = await calls.makeEarlier();
    const path = `/v1/agent/sessions/${id}/call-chain`;
    expect((await calls.api.request('GET', path, { key: calls.user.key })).status).toBe(404);
  });
});

it('Each piece in a file is one of FLAC that can be played by itself', async () => {
  const id = await calls.make();
  const segment = (await listSegments(calls.api.context, id)).find(({ role }) => role === 'user');
  if (!segment) throw new Error('no sound');
  const whole = await getSegmentFile(calls.api.context, await sessionOf(id), segment);
  const { parts } = await exported(id);
  const frames = parts.flatMap(({ label, content }) =>
    label.kind === 'sound' && label.side === 'user' && content ? [Buffer.from(content).subarray(42)] : [],
  );
  expect(Buffer.concat(frames)).toEqual(whole?.subarray(42));
});
