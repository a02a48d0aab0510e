import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sendForm } from '../../catalogue/knowledge/knowledge-form.ts';
import { openTestApi, type TestApi, type TestResponse, type TestUser } from '../../test-api.ts';

const MB = 1_000_000;
let api: TestApi;
let user: TestUser;

beforeAll(async () => {
  api = await openTestApi({
    LIMIT_TOOLS: '3',
    LIMIT_AGENTS: '3',
    LIMIT_VERSIONS: '3',
    LIMIT_KEYS: '3',
    LIMIT_TESTS: '3',
    LIMIT_CONTENTS_PER_MINUTE: '40',
    LIMIT_STORED_BYTES: String(4 * MB),
    LIMIT_STORED_BYTES_UNPAID: String(2 * MB),
  });
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser();
});

const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: unknown) =>
  api.request(method, url, { key: user.key, body });
const statuses = (answers: readonly TestResponse[]) => answers.map(({ status }) => status).toSorted();

describe('storage quotas of an account', () => {
  it.each([
    ['tools', '/v1/agent/tools', { name: 'lookup', url: 'https://tools.example.com/' }, 'tool_id', 3],
    ['agents', '/v1/agent/agents', { name: 'Ada' }, 'agent_id', 3],
    // The account's first key counts, too.
    ['keys', '/v1/keys', { name: 'mine' }, 'key_id', 2],
    [
      'agent tests',
      '/v1/agent/tests',
      {
        name: 'Greets',
        test_type: 'next_reply',
        conversation: [{ role: 'user', text: 'Hi' }],
        expectation: 'A greeting',
      },
      'test_id',
      3,
    ],
  ])(
    'security 15: %s stay within their quota under concurrency, and a deletion frees a place at once',
    async (...[what, url, body, id, room]) => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask('POST', url, body)));
      expect(statuses(answers)).toEqual([...Array(room).fill(201), ...Array(8 - room).fill(403)]);
      const refused = answers.find(({ status }) => status === 403);
      expect(refused?.body).toEqual({
        status: 403,
        message: expect.stringMatching(
          `^This account has reached its limit of 3 ${what}: delete some, or ask the operator to raise ` +
            'LIMIT_',
        ),
        reason: 'quota_reached',
      });
      const made = answers.find(({ status }) => status === 201);
      expect((await ask('DELETE', `${url}/${made?.body[id]}`)).status).toBe(204);
      expect(statuses(await Promise.all([ask('POST', url, body), ask('POST', url, body)]))).toEqual([
        201, 403,
      ]);
    },
  );

  it('security 15: versions of an agent are limited', async () => {
    const { agent_id } = (await ask('POST', '/v1/agent/agents', { name: 'Ada' })).body;
    const publish = async (text: string) => {
      await ask('PATCH', `/v1/agent/agents/${agent_id}/config`, { prompt: { system_prompt: text } });
      return ask('POST', `/v1/agent/agents/${agent_id}/publish`);
    };
    for (const text of ['a', 'b', 'c']) expect((await publish(text)).status).toBe(200);
    const refused = await publish('d');
    expect([refused.status, refused.body.reason]).toEqual([403, 'quota_reached']);
  });
});

describe('bytes of voices and knowledge', () => {
  const source = (bytes: number) =>
    sendForm(api, user.key, '/v1/agent/knowledge-sources', {
      method: 'POST',
      form: { source: 'x'.repeat(bytes) },
    });
  const voice = (bytes: number) => {
    const form = new FormData();
    form.append('title', 'Mine');
    form.append('visibility', 'private');
    form.append('type', 'tts');
    form.append('train_mode', 'fast');
    form.append('texts', 'Hello.');
    form.append('voices', new Blob([new Uint8Array(bytes)]), 'a.wav');
    const encoded = new Response(form);
    return encoded.arrayBuffer().then((raw) =>
      api.request('POST', '/model', {
        key: user.key,
        raw: Buffer.from(raw),
        headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
      }),
    );
  };

  it('security 15: stay within a shared quota under concurrency, which grows after payment', async () => {
    const answers = await Promise.all([source(MB), source(MB), source(MB), source(MB)]);
    expect(statuses(answers)).toEqual([201, 201, 403, 403]);
    const refused = await voice(100_000);
    expect([refused.status, refused.body.reason], refused.text).toEqual([403, 'storage_full']);
    expect(refused.body.message).toContain(
      'delete some, top up, or ask the operator to raise LIMIT_STORED_BYTES_UNPAID',
    );
    const topUp = { amount: '5.00', idempotency_key: user.userId };
    await api.request('POST', `/admin/wallet/${user.userId}/top-up`, { key: api.rootKey, body: topUp });
    expect((await voice(2 * MB)).status).toBe(201);
    expect((await source(10)).status).toBe(403);
  });

  it('security 15: get the paid quota only by payment, whatever the initial credit', async () => {
    user = await api.createUser({ credit: '30.00' });
    expect(statuses([await source(MB), await source(MB), await source(MB)])).toEqual([201, 201, 403]);
    await api.context.ledger.post({ userId: user.userId, key: 'paid', kind: 'top_up', amountMicros: 1 });
    expect((await source(MB)).status).toBe(201);
  });

  it('security 15: are refused before a body that does not fit is read', async () => {
    await api.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = api.app.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    // Only the head: an answer shows that the server does not wait for the body.
    socket.write(
      `POST /model HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${user.key}\r\nContent-Type: ` +
        `multipart/form-data; boundary=x\r\nContent-Length: ${8 * MB}\r\n\r\n`,
    );
    const [answer] = await once(socket, 'data');
    socket.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1.1 403 .*connection: close/is);
    expect(String(answer)).toContain('storage_full');
  });

  it('security 15: become free at once when a voice is deleted', async () => {
    const { body } = await voice(2 * MB);
    expect((await source(10)).status).toBe(403);
    await ask('DELETE', `/model/${body['_id']}`);
    expect((await voice(2 * MB)).status).toBe(201);
  });

  it('security 15: still include the old cover when a new one is rejected, and release it otherwise', async () => {
    const { body } = await voice(MB);
    const cover = async (bytes: number) => {
      const form = new FormData();
      form.append('cover_image', new Blob([new Uint8Array(bytes)]), 'a.png');
      const encoded = new Response(form);
      const raw = Buffer.from(await encoded.arrayBuffer());
      const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
      return (await api.request('PATCH', `/model/${body['_id']}`, { key: user.key, raw, headers })).status;
    };
    expect([await cover(400_000), await cover(500_000), await cover(900_000)]).toEqual([200, 200, 403]);
    expect([(await source(500_001)).status, (await source(500_000)).status]).toEqual([403, 201]);
  });

  it('security 15: become free at once when a source is deleted', async () => {
    const first = await source(MB);
    await source(MB);
    expect((await source(MB)).status).toBe(403);
    await ask('DELETE', `/v1/agent/knowledge-sources/${first.body.knowledge_source_id}`);
    expect((await source(MB)).status).toBe(201);
    expect((await source(10)).status).toBe(403);
  });

  it('security 15: include every revision of a source', async () => {
    const { knowledge_source_id: id } = (await source(MB)).body;
    const patch = () =>
      sendForm(api, user.key, `/v1/agent/knowledge-sources/${id}`, {
        method: 'PATCH',
        form: { source: 'y'.repeat(900_000) },
      });
    expect((await patch()).status).toBe(200);
    expect((await patch()).status).toBe(403);
    // By now no call can still read the first one.
    await api.clock.advance(11 * 60_000);
    expect((await patch()).status).toBe(200);
  });

  it('become free in one update of the count when a source has many revisions', async () => {
    const { knowledge_source_id: id } = (await source(10_000)).body;
    const patch = (bytes: number) =>
      sendForm(api, user.key, `/v1/agent/knowledge-sources/${id}`, {
        method: 'PATCH',
        form: { source: 'y'.repeat(bytes) },
      });
    for (let n = 0; n < 20; n++) expect((await patch(10_000)).status).toBe(200);
    await api.clock.advance(11 * 60_000);
    const changes = vi.spyOn(api.context.models.places.collection, 'updateOne');
    expect((await patch(10_000)).status).toBe(200);
    // One update frees the replaced revisions, the other adds the new one.
    expect(changes).toHaveBeenCalledTimes(2);
    changes.mockRestore();
    expect(statuses([await source(MB), await source(MB - 20_000)])).toEqual([201, 201]);
    expect((await source(1)).status).toBe(403);
  });

  it('changes of knowledge content are limited per minute and team', async () => {
    const { knowledge_source_id: id } = (await source(10)).body;
    const patch = (form: Record<string, string>) =>
      sendForm(api, user.key, `/v1/agent/knowledge-sources/${id}`, { method: 'PATCH', form });
    for (let n = 0; n < 40; n++) expect((await patch({ source: `${n}` })).status).toBe(200);
    const refused = await patch({ source: 'one more' });
    expect([refused.status, refused.body.reason]).toEqual([429, 'too_many_a_minute']);
    expect((await patch({ name: 'Menu' })).status).toBe(200);
    await api.clock.advance(61_000);
    expect((await patch({ source: 'one more' })).status).toBe(200);
  });
});
