import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard, EgressRefused, EgressTimeout } from '#base/egress.ts';
import { isPublicAddress } from '#base/public-address.ts';

const guard = (allow: string[] = [], resolve?: (host: string) => Promise<readonly string[]>) =>
  createEgressGuard({ allow, clock: systemClock, ...(resolve ? { resolve } : {}) });

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (problem: unknown) => problem,
  );
  return error instanceof EgressRefused ? error.reason : `not refused: ${String(error)}`;
}

describe('the egress guard', () => {
  let server: Server;
  let port = 0;
  let hits: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      hits.push(request.url ?? '');
      if (request.url === '/moved')
        response.writeHead(302, { location: `http://127.0.0.1:${port}/target` }).end();
      else if (request.url === '/large') response.end('x'.repeat(100_000));
      else if (request.url === '/endless') response.write('y');
      else response.end('hello');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each([
    '10.0.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '::ffff:8.8.8.8',
    '::8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
    '2001::1',
    'fec0::1',
    'not an address',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450::1'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ['ftp://example.com', 'scheme'],
    ['nonsense', 'malformed'],
    ['http://user:secret@example.com', 'credentials'],
    ['http://2130706433/', 'numeric_host'],
    ['http://0x7f000001/', 'numeric_host'],
    ['http://0177.0.0.1/', 'numeric_host'],
    ['http://127.1/', 'numeric_host'],
    ['http://127.0.0.1/', 'not_public'],
    ['http://[::1]/', 'not_public'],
    ['http://[::ffff:10.0.0.1]/', 'not_public'],
    ['http://localhost/', 'not_public'],
    ['http://a.localhost./', 'not_public'],
    ['http://metadata.google.internal/', 'not_public'],
  ])('%s is refused as %s', async (url, reason) => {
    expect(await refusal(guard().check(url))).toBe(reason);
    expect(await refusal(guard().fetch(url))).toBe(reason);
  });

  it('a name is refused if any of its addresses is private', async () => {
    const rebinding = guard([], async () => ['8.8.8.8', '10.0.0.1']);
    expect(await refusal(rebinding.check('https://example.com'))).toBe('not_public');
  });

  it('a name that only resolves to a private address when connecting is not reached', async () => {
    let asked = 0;
    const rebinding = guard([], async () => (asked++ === 0 ? ['8.8.8.8'] : ['127.0.0.1']));
    await rebinding.check(`http://example.com:${port}/`);
    hits = [];
    const request = rebinding.request(`http://example.com:${port}/`, {
      method: 'GET',
      timeoutMs: 2_000,
      maxBytes: 10,
    });
    expect(await refusal(request)).toBe('not_public');
    expect(hits).toEqual([]);
  });

  it('the connection uses the address that was checked', async () => {
    const pinned = guard(['127.0.0.1'], async () => ['127.0.0.1']);
    const response = await pinned.request(`http://anything.example:${port}/pinned`, {
      method: 'GET',
      timeoutMs: 2_000,
      maxBytes: 100,
    });
    expect(response.body.toString()).toBe('hello');
    expect(hits).toContain('/pinned');
  });

  it.each([
    [['127.0.0.1'], true],
    [['127.0.0.0/8'], true],
    [['127.0.0.1:PORT'], true],
    [['127.0.0.1:1'], false],
    [['localhost'], false],
    [['10.0.0.0/8'], false],
  ])('EGRESS_ALLOW=%s allows an address: %s', async (entries, passes) => {
    const allow = entries.map((entry) => entry.replace('PORT', String(port)));
    const outcome = await refusal(guard(allow).check(`http://127.0.0.1:${port}`));
    expect(outcome.startsWith('not refused: null')).toBe(passes);
  });

  it('EGRESS_ALLOW matches names as written, and addresses against the resolved ones', async () => {
    const resolve = async () => ['10.1.2.3'];
    expect(await refusal(guard(['Tools.Example'], resolve).check('http://tools.example'))).toContain('null');
    expect(await refusal(guard(['10.1.2.0/24'], resolve).check('http://tools.example'))).toContain('null');
    expect(await refusal(guard(['other.example'], resolve).check('http://tools.example'))).toBe('not_public');
    expect(await guard(['10.1.2.0/24'], resolve).allowsPlainHttp('http://tools.example')).toBe(true);
    expect(await guard([], resolve).allowsPlainHttp('http://tools.example')).toBe(false);
  });

  it('redirects are returned, not followed', async () => {
    hits = [];
    const response = await guard(['127.0.0.1']).request(`http://127.0.0.1:${port}/moved`, {
      method: 'POST',
      timeoutMs: 2_000,
      maxBytes: 10,
    });
    expect(response.status).toBe(302);
    expect(hits).toEqual(['/moved']);
  });

  it('a body is read up to its size limit, and a silent server until its timeout', async () => {
    const capped = await guard(['127.0.0.1']).request(`http://127.0.0.1:${port}/large`, {
      method: 'GET',
      timeoutMs: 2_000,
      maxBytes: 1_000,
    });
    expect([capped.body.length, capped.isTruncated]).toEqual([1_000, true]);
    const slow = guard(['127.0.0.1']).request(`http://127.0.0.1:${port}/endless`, {
      method: 'GET',
      timeoutMs: 100,
      maxBytes: 1_000,
    });
    await expect(slow).rejects.toBeInstanceOf(EgressTimeout);
  });
});
