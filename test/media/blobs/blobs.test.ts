import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OBJECT_TYPE } from '#media/blobs/blob-store.ts';
import { type Blobs, openBlobs } from '#media/blobs/blobs.ts';
import { S3_CREDENTIALS, type S3Server, startS3Server } from '../../fakes/s3-server.ts';

let directory: string;
let s3: S3Server;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'parley-blobs-'));
  s3 = await startS3Server();
});
afterEach(async () => {
  await s3.close();
  rmSync(directory, { recursive: true, force: true });
});

const STORES: readonly [string, () => Blobs][] = [
  ['a directory', () => openBlobs(join(directory, 'blobs'))],
  ['a directory as a url', () => openBlobs(pathToFileURL(directory).href)],
  ['S3', () => openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS)],
  [
    'S3 under a prefix',
    () => openBlobs(`s3://calls/parley/blobs?endpoint=${s3.endpoint}&region=eu-west-1`, S3_CREDENTIALS),
  ],
];

for (const [name, open] of STORES) {
  describe(`blobs in ${name}`, () => {
    it('returns the bytes stored under a key, and null for an unknown key', async () => {
      const blobs = open();
      const bytes = randomBytes(200_000);
      await blobs.put('recordings/s1/agent-000001.bin', bytes);
      await blobs.put('empty', Buffer.alloc(0));
      expect((await blobs.get('recordings/s1/agent-000001.bin'))?.equals(bytes)).toBe(true);
      expect(await blobs.get('empty')).toEqual(Buffer.alloc(0));
      expect(await blobs.get('recordings/s1/agent-000002.bin')).toBeNull();
      expect(await blobs.get('recordings/s1')).toBeNull();
    });

    it('stores blobs that arrive together, each with its own bytes', async () => {
      const blobs = open();
      const keys = Array.from({ length: 40 }, (_, index) => `s/${index % 4}/t/${index}`);
      await Promise.all(keys.map((key) => blobs.put(key, Buffer.from(key))));
      for (const key of keys) expect(String(await blobs.get(key))).toBe(key);
    });

    it('overwrites a blob that is stored again', async () => {
      const blobs = open();
      await blobs.put('a', Buffer.from('one'));
      await blobs.put('a', Buffer.from('two'));
      expect(String(await blobs.get('a'))).toBe('two');
      expect(await blobs.list('')).toEqual(['a']);
    });

    it('lists every key with a prefix, sorted, across several pages', async () => {
      const blobs = open();
      expect(await blobs.list('none/')).toEqual([]);
      const keys = ['s/1/a.bin', 's/1/b.bin', 's/1/c:1.bin', 's/10/a.bin', 's/2/x/y.bin', 't/1'];
      for (const key of keys.toReversed()) await blobs.put(key, Buffer.from(key));
      expect(await blobs.list('')).toEqual(keys);
      expect(await blobs.list('s/1/')).toEqual(['s/1/a.bin', 's/1/b.bin', 's/1/c:1.bin']);
      expect(await blobs.list('s/1')).toEqual(['s/1/a.bin', 's/1/b.bin', 's/1/c:1.bin', 's/10/a.bin']);
      expect(await blobs.list('s/3/')).toEqual([]);
    });

    it('deletes one key, and ignores a missing key', async () => {
      const blobs = open();
      await blobs.put('a/b', Buffer.from('x'));
      await blobs.delete('a/b');
      await blobs.delete('a/b');
      expect(await blobs.get('a/b')).toBeNull();
    });

    it('deletes everything under a prefix and nothing else', async () => {
      const blobs = open();
      for (const key of ['s/1/a', 's/1/b', 's/1/c/d', 's/10/a', 's/2'])
        await blobs.put(key, Buffer.from('x'));
      expect(await blobs.deletePrefix('s/1/')).toBe(3);
      expect(await blobs.list('')).toEqual(['s/10/a', 's/2']);
      expect(await blobs.deletePrefix('s/1')).toBe(1);
      expect(await blobs.list('')).toEqual(['s/2']);
      expect(await blobs.deletePrefix('s/3/')).toBe(0);
      await expect(blobs.deletePrefix('')).rejects.toThrow('needs a prefix');
    });

    it.each([
      '',
      '..',
      '../x',
      'a/../b',
      '/etc/passwd',
      'a//b',
      'a/',
      '.hidden',
      'a\\b',
      'a\0b',
      'a b',
      'x'.repeat(600),
    ])('refuses the key %j', async (key) => {
      const blobs = open();
      await expect(blobs.put(key, Buffer.from('x'))).rejects.toThrow('invalid blob key');
      await expect(blobs.get(key)).rejects.toThrow('invalid blob key');
      await expect(blobs.delete(key)).rejects.toThrow('invalid blob key');
      if (key !== '' && key !== 'a/')
        await expect(blobs.deletePrefix(key)).rejects.toThrow('invalid blob key');
    });
  });
}

describe('blobs in a directory', () => {
  it('are readable only by their owner', async () => {
    await openBlobs(directory).put('a/b', Buffer.from('x'));
    expect(statSync(join(directory, 'a')).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'a/b')).mode & 0o777).toBe(0o600);
  });

  it('a failed write leaves neither a new blob nor a temporary file', async () => {
    const blobs = openBlobs(directory);
    await blobs.put('a/b/c', Buffer.from('x'));
    await expect(blobs.put('a/b', Buffer.from('x'))).rejects.toThrow();
    expect(readdirSync(join(directory, 'a'))).toEqual(['b']);
  });

  it('a failed write fails no other that arrives with it', async () => {
    const blobs = openBlobs(directory);
    await blobs.put('a/b/c', Buffer.from('x'));
    const outcomes = await Promise.allSettled(
      ['a/d', 'a/b', 'e/f'].map((key) => blobs.put(key, Buffer.from(key))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await blobs.list('')).toEqual(['a/b/c', 'a/d', 'e/f']);
    await blobs.put('a/g', Buffer.from('x'));
  });

  it('leftovers of an interrupted write are never listed and are deleted with their directory', async () => {
    const blobs = openBlobs(directory);
    await blobs.put('a/b', Buffer.from('x'));
    writeFileSync(join(directory, 'a', '.writing-0123'), 'half');
    expect(await blobs.list('a/')).toEqual(['a/b']);
    await blobs.deletePrefix('a/');
    expect(existsSync(join(directory, 'a'))).toBe(false);
  });
});

describe('blobs in S3', () => {
  it('transient failures are retried', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    s3.failures.push(503, 'hang-up', 500);
    await blobs.put('a', Buffer.from('x'));
    expect(s3.requests).toEqual(['PUT /calls/a', 'PUT /calls/a', 'PUT /calls/a', 'PUT /calls/a']);
    expect(String(s3.objects.get('a'))).toBe('x');
  });

  it('a persistent failure is an error that contains the status and no secret', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    s3.failures.push(503, 503, 503, 503, 503);
    await expect(blobs.get('a')).rejects.toThrow('S3 get: 503 SlowDown');
    expect(s3.requests).toHaveLength(4);
  });

  it('a refused request is not retried', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, {
      ...S3_CREDENTIALS,
      secretAccessKey: 'wrong',
    });
    await expect(blobs.put('a', Buffer.from('x'))).rejects.toThrow('S3 put: 403 SignatureDoesNotMatch');
    expect(s3.requests).toHaveLength(1);
  });

  it('are stored only if the answer has a strong ETag: a proxy may answer 200 to anything', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    s3.answers.set('PUT', { status: 200, body: '' });
    await expect(blobs.put('a', Buffer.from('x'))).rejects.toThrow('S3 put: 200 without ETag');
  });

  it('can be written with their address, which holds for one key, length and type only', async () => {
    const blobs = openBlobs(`s3://calls/under?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    const address = (await blobs.putAddress('s/1-a.flac', 6)) ?? '';
    const put = async (url: string, body: string, type = OBJECT_TYPE) =>
      (await fetch(url, { method: 'PUT', headers: { 'content-type': type }, body })).status;
    expect(address).toContain('X-Amz-Expires=300');
    expect(await put(address, 'sealed')).toBe(200);
    expect(String(await blobs.get('s/1-a.flac'))).toBe('sealed');
    for (const altered of [address.replace('1-a', '1-b'), address.replace('Expires=300', 'Expires=301')])
      expect(await put(altered, 'opened')).toBe(403);
    for (const body of ['much more', 'less']) expect(await put(address, body)).toBe(403);
    expect(await put(address, 'opened', 'text/html')).toBe(403);
    await expect(blobs.putAddress('../a', 6)).rejects.toThrow('invalid blob key');
  });

  it('that are too large are an error, not a full memory', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    s3.objects.set('a', Buffer.alloc(64 * 1024 * 1024 + 1));
    await expect(blobs.get('a')).rejects.toThrow('TooLarge');
    expect(s3.requests).toEqual(['GET /calls/a']);
  });

  it('are deleted together by one request', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    for (const key of ['s/1', 's/2', 's/3']) s3.objects.set(key, Buffer.from('x'));
    expect(await blobs.deletePrefix('s/')).toBe(3);
    expect(s3.requests.filter((request) => !request.startsWith('GET'))).toEqual(['POST /calls/']);
    expect(s3.objects.size).toBe(0);
  });

  it.each([
    ['refuses such requests', 501, '<Error><Code>NotImplemented</Code></Error>'],
    ['takes them for malformed', 400, '<Error><Code>InvalidArgument</Code></Error>'],
    ['does not find them', 404, ''],
    ['answers with something else', 200, '<html></html>'],
    ['fails for one of them', 200, '<DeleteResult><Error><Code>InternalError</Code></Error></DeleteResult>'],
  ])('are deleted one by one where the store %s', async (_what, status, body) => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    for (const key of ['s/1', 's/2']) s3.objects.set(key, Buffer.from('x'));
    s3.answers.set('POST', { status, body });
    expect(await blobs.deletePrefix('s/')).toBe(2);
    expect(s3.objects.size).toBe(0);
  });

  it('that may not be deleted make an error with the reason', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    s3.objects.set('s/1', Buffer.from('x'));
    const body = '<Error><Code>AccessDenied</Code></Error>';
    for (const method of ['POST', 'DELETE']) s3.answers.set(method, { status: 403, body });
    await expect(blobs.deletePrefix('s/')).rejects.toThrow('S3 delete: 403 AccessDenied');
  });

  it('a missing bucket is an error, not a missing blob', async () => {
    const blobs = openBlobs(`s3://other?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    await expect(blobs.get('a')).rejects.toThrow('NoSuchBucket');
    await expect(blobs.list('a')).rejects.toThrow('NoSuchBucket');
  });

  it('unrelated objects in the bucket are not listed', async () => {
    const blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    s3.objects.set('odd name & more', Buffer.from('x'));
    await blobs.put('mine', Buffer.from('x'));
    expect(await blobs.list('')).toEqual(['mine']);
  });
});

it.each([
  ['s3://bucket', undefined, 'AWS_ACCESS_KEY_ID'],
  ['s3://', S3_CREDENTIALS, 's3://bucket'],
  ['s3://bucket?endpoint=ftp://x', S3_CREDENTIALS, 'http'],
  ['https://example.com/blobs', undefined, 'must be a directory or s3://'],
] as const)('refuses to open %s', (url, credentials, message) => {
  expect(() => openBlobs(url, credentials)).toThrow(message);
});
