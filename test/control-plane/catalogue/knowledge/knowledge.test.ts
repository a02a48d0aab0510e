import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { type KnowledgeForm, sendForm } from './knowledge-form.ts';

let api: TestApi;
let user: TestUser;
const sources = '/v1/agent/knowledge-sources';
const MIB = 1_048_576;

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  user = await api.createUser();
});
afterAll(() => api.close());

const upload = (form: KnowledgeForm) => sendForm(api, user.key, sources, { method: 'POST', form });
const change = (id: string, form: KnowledgeForm) =>
  sendForm(api, user.key, `${sources}/${id}`, { method: 'PATCH', form });
const get = (url: string) => api.request('GET', url, { key: user.key });

describe('an upload', () => {
  it('creates a source with its first revision, named after its file', async () => {
    const { status, body } = await upload({ source: '# Opening hours\n\nWe open at nine.\n' });
    expect(status).toBe(201);
    expect(body).toEqual({
      knowledge_source_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      workspace_id: user.workspaceId,
      name: 'faq.md',
      description: '',
      file_name: 'faq.md',
      size_bytes: 34,
      chunk_count: 1,
      revision_number: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      content: '# Opening hours\n\nWe open at nine.\n',
    });
    expect((await get(`${sources}/${body.knowledge_source_id}`)).body).toEqual(body);
  });

  it('accepts a name and a description', async () => {
    const { body } = await upload({ source: 'text', name: 'Häufige Fragen', description: 'for the hotline' });
    expect(body).toMatchObject({
      name: 'Häufige Fragen',
      description: 'for the hotline',
      file_name: 'faq.md',
    });
  });

  it('counts the bytes and chunks it stores, and drops a byte order mark', async () => {
    const { body } = await upload({ source: `\ufeff${'Größe zählt. '.repeat(200)}` });
    expect(body.content.startsWith('Größe')).toBe(true);
    expect(body).toMatchObject({ size_bytes: 200 * 16, chunk_count: 3 });
  });

  it('shortens a file name that is too long', async () => {
    const { body } = await upload({ source: 'text', fileName: `${'x'.repeat(300)}.txt` });
    expect(body.name).toHaveLength(120);
    expect(body.file_name).toMatch(/^x{251}\.txt$/);
  });

  it('is accepted with exactly 1,048,576 bytes, and answered 400 with one more', async () => {
    expect((await upload({ source: 'x'.repeat(MIB) })).body.size_bytes).toBe(MIB);
    expect((await upload({ source: 'x'.repeat(MIB + 1) })).status).toBe(400);
    expect((await upload({ source: 'x'.repeat(3 * MIB) })).status).toBe(400);
  });

  it('is rejected early over a socket when far too large, announced or not', async () => {
    await api.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = api.app.server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}${sources}`;
    const send = (body: FormData | ReadableStream, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.key}`, ...headers },
        body,
        duplex: 'half',
      } as RequestInit);
    const form = new FormData();
    form.append('source', new Blob(['x'.repeat(8 * MIB)]), 'faq.md');
    expect((await send(form)).status).toBe(400);
    const { body, headers } = new Response(form);
    expect(
      (await send(body as ReadableStream, { 'content-type': headers.get('content-type') ?? '' })).status,
    ).toBe(400);
    form.set('source', new Blob(['fits']), 'faq.md');
    expect((await send(form)).status).toBe(201);
  });

  it.each([
    ['bytes that are not UTF-8', { source: Uint8Array.from([0x61, 0xff, 0xfe, 0x62]) }],
    ['UTF-16', { source: new Uint8Array(Buffer.from('hello', 'utf16le')) }],
    ['a NUL', { source: 'a\0b' }],
    ['control characters', { source: 'a\u001b[0m' }],
    ['nothing', { source: '' }],
    ['only white space', { source: ' \n\t\n' }],
    ['another ending', { source: '%PDF-1.7', fileName: 'faq.pdf' }],
  ])('is 400 and stores nothing if it contains %s', async (_name, form) => {
    const { status, body } = await upload({ ...form, name: 'x'.repeat(121) });
    expect(status).toBe(400);
    expect(body).toMatchObject({ status: 400, message: expect.stringMatching(/not UTF-8 plain text/) });
    expect((await get(sources)).body.knowledge_sources).toEqual([]);
  });

  it.each([
    ['no file', { name: 'x' }, ['body', 'source']],
    ['an empty name', { source: 'x', name: '' }, ['body', 'name']],
    ['a long name', { source: 'x', name: 'x'.repeat(121) }, ['body', 'name']],
    ['a long description', { source: 'x', description: 'x'.repeat(2_001) }, ['body', 'description']],
    ['a very long description', { source: 'x', description: 'x'.repeat(200_000) }, ['body', 'description']],
    ['an unknown field', { source: 'x', tags: 'a' }, ['body', 'tags']],
    ['two files', { source: ['x', 'y'] }, ['body', 'source']],
  ])('is 422 if it has %s', async (_name, form, loc) => {
    const { status, body } = await upload(form as KnowledgeForm);
    expect(status).toBe(422);
    expect(body).toEqual([expect.objectContaining({ loc, in: 'body' })]);
  });

  it('is 422 with the name of the form field if the file is in another one', async () => {
    const raw = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nx\r\n--b--\r\n';
    const { status, body } = await api.request('POST', sources, {
      key: user.key,
      raw,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    expect(status).toBe(422);
    expect(body).toContainEqual(
      expect.objectContaining({ loc: ['body', 'source'], msg: expect.stringContaining('form field source') }),
    );
  });

  it('is 422 if its source is text instead of a file', async () => {
    const raw = '--b\r\nContent-Disposition: form-data; name="source"\r\n\r\ntext\r\n--b--\r\n';
    const { status } = await api.request('POST', sources, {
      key: user.key,
      raw,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    expect(status).toBe(422);
  });

  it.each([
    ['JSON', { body: { name: 'x' } }],
    ['nothing at all', {}],
    ['plain text', { raw: 'text', headers: { 'content-type': 'text/plain' } }],
    ['no content type', { raw: 'text', headers: { 'content-type': '' } }],
  ])('is a bare 415 if it is sent with %s', async (_name, request) => {
    const { status, text } = await api.request('POST', sources, { key: user.key, ...request });
    expect([status, text]).toEqual([415, '']);
  });

  it.each([
    ['no boundary', 'multipart/form-data', 'x'],
    ['nothing inside', 'multipart/form-data; boundary=b', 'x'],
    [
      'an end too early',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="source"; filename="a.txt"\r\n\r\ntext',
    ],
    [
      'a field no object may have',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\nx\r\n--b--\r\n',
    ],
    [
      'too many fields',
      'multipart/form-data; boundary=b',
      `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(50)}--b--\r\n`,
    ],
  ])('is 400 if it is a form with %s', async (_name, type, raw) => {
    const { status, body } = await api.request('POST', sources, {
      key: user.key,
      raw,
      headers: { 'content-type': type },
    });
    expect(status).toBe(400);
    expect(body.message).toBe('Malformed multipart form');
  });

  it('answers any form with a status below 500 and never repeats its content', async () => {
    const part = fc.record({
      name: fc.constantFrom('source', 'name', 'description', 'other', '', 'toString'),
      head: fc.constantFrom(
        '',
        '; filename="a.txt"',
        '; filename="../../a.md"',
        '; filename="a\u0000.txt"',
        '; filename=""',
      ),
      type: fc.constantFrom(
        '',
        'Content-Type: application/json\r\n',
        'Content-Type: text/plain; charset=none\r\n',
        'Content-Type: a/b\r\n',
      ),
      text: fc.oneof(
        fc.string(),
        fc.constantFrom('{"content":"planted-7c1"}', 'planted-7c1', '\u0000planted-7c1'),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 5 }), fc.boolean(), async (parts, isWhole) => {
        const body = parts.map(
          ({ name, head, type, text }) =>
            `--b\r\nContent-Disposition: form-data; name="${name}"${head}\r\n${type}\r\n${text}\r\n`,
        );
        const raw = `${body.join('')}${isWhole ? '--b--\r\n' : ''}`;
        const { status, text } = await api.request('POST', sources, {
          key: user.key,
          raw,
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
        });
        expect(status).toBeLessThan(500);
        if (status >= 400) expect(text).not.toContain('planted-7c1');
      }),
      { numRuns: 150, seed: 20_261_121 },
    );
  });

  it('needs beta access, which is checked before the form', async () => {
    user = await api.createUser({ beta_access: false });
    expect((await upload({ source: 'text' })).status).toBe(403);
    expect((await api.request('POST', sources, { key: user.key, body: {} })).status).toBe(403);
    expect((await get(sources)).status).toBe(200);
  });
});

describe('a change', () => {
  let id: string;
  beforeEach(async () => {
    id = (await upload({ source: 'first', description: 'd' })).body.knowledge_source_id;
    await api.clock.advance(1_000);
  });

  it('keeps omitted fields, and creates no revision for a new name', async () => {
    const { status, body } = await change(id, { name: 'Renamed' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name: 'Renamed',
      description: 'd',
      file_name: 'faq.md',
      content: 'first',
      revision_number: 1,
    });
    expect(body.updated_at > body.created_at).toBe(true);
    expect((await change(id, {})).body).toMatchObject({ name: 'Renamed', revision_number: 1 });
  });

  it('creates the next revision under the same id and name if it changes the content', async () => {
    const { body } = await change(id, { source: 'second, longer', fileName: 'new.txt' });
    expect(body).toMatchObject({
      knowledge_source_id: id,
      name: 'faq.md',
      file_name: 'new.txt',
      content: 'second, longer',
      size_bytes: 14,
      revision_number: 2,
    });
    expect((await change(id, { source: 'second, longer' })).body.revision_number).toBe(3);
    expect((await get(`${sources}/${id}`)).body).toMatchObject({
      content: 'second, longer',
      revision_number: 3,
    });
  });

  it('creates ten revisions if it is made ten times at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => change(id, { source: `text ${index}` })),
    );
    expect(answers.map((answer) => answer.body.revision_number).sort((a, b) => a - b)).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    const { body } = await get(`${sources}/${id}`);
    expect(body.content).toBe(answers.find((answer) => answer.body.revision_number === 11)?.body.content);
  });

  it.each([
    ['JSON', 415, () => api.request('PATCH', `${sources}/${id}`, { key: user.key, body: { name: 'x' } })],
    ['no text', 400, () => change(id, { source: 'a\0' })],
    ['an empty name', 422, () => change(id, { name: '' })],
    ['a missing source', 404, () => change('missing', { name: 'x' })],
    ['a missing source and a file', 404, () => change('missing', { source: 'x' })],
    ['too much', 400, () => change(id, { source: 'x'.repeat(MIB + 1) })],
  ])('answers %s with %i', async (_name, status, send) => {
    expect((await send()).status).toBe(status);
    expect((await get(`${sources}/${id}`)).body).toMatchObject({
      content: 'first',
      revision_number: 1,
      name: 'faq.md',
    });
  });
});

describe('the list', () => {
  it('has rows without content, newest first, by page and by cursor', async () => {
    for (const name of ['a', 'b', 'c']) {
      await upload({ source: name, name });
      await api.clock.advance(1_000);
    }
    const names = (body: { knowledge_sources: { name: string }[] }) =>
      body.knowledge_sources.map((row) => row.name);
    const first = (await get(`${sources}?page_size=2`)).body;
    expect(names(first)).toEqual(['c', 'b']);
    expect(first).toMatchObject({ has_more: true, total: null });
    expect(first.knowledge_sources[0]).not.toHaveProperty('content');
    const second = (await get(`${sources}?page_size=2&cursor=${first.next_cursor}`)).body;
    expect(second).toMatchObject({ knowledge_sources: [{ name: 'a' }], has_more: false, next_cursor: null });
    expect((await get(`${sources}?page=2&page_size=2`)).body).toMatchObject({
      knowledge_sources: [{ name: 'a' }],
      total: 3,
    });
    expect((await get(`${sources}?page=1&cursor=${first.next_cursor}`)).status).toBe(400);
    expect((await get(`${sources}?agent_id=x`)).status).toBe(422);
  });

  it('can be searched by name and file name, and shows a team only its own', async () => {
    await upload({ source: 'x', name: 'Prices (2026)', fileName: 'list.txt' });
    await upload({ source: 'x', name: 'Hours', fileName: 'PRICES.md' });
    await upload({ source: 'x', name: 'Other' });
    expect((await get(`${sources}?search=prices`)).body.knowledge_sources).toHaveLength(2);
    expect((await get(`${sources}?search=(2026)`)).body.knowledge_sources).toHaveLength(1);
    user = await api.createUser();
    expect((await get(sources)).body.knowledge_sources).toEqual([]);
  });
});

describe('a source of another team', () => {
  it('is treated as missing', async () => {
    const { knowledge_source_id: id } = (await upload({ source: 'x' })).body;
    user = await api.createUser();
    const answers = await Promise.all([
      get(`${sources}/${id}`),
      get(`${sources}/missing`),
      get(`${sources}/${id}/agents`),
      change(id, { name: 'mine' }),
      change(id, { source: 'mine' }),
      api.request('DELETE', `${sources}/${id}`, { key: user.key }),
      api.request('POST', '/v1/agent/agents', {
        key: user.key,
        body: { name: 'a', config: { knowledge_base: { knowledge_source_ids: [id] } } },
      }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404, 404, 404, 404, 422]);
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(await api.context.models.knowledgeRevisions.countDocuments({ knowledge_source_id: id })).toBe(1);
  });
});

it('the API description includes the form', async () => {
  const { paths } = (await api.request('GET', '/openapi.json')).body;
  const form = paths[sources].post.requestBody.content['multipart/form-data'].schema;
  expect(form.properties.source).toMatchObject({ type: 'string', format: 'binary' });
  expect(form.required).toEqual(['source']);
});
