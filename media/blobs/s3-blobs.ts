/**
 * Blobs in an S3 bucket, or in any store with its REST protocol (PutObject, GetObject, DeleteObject,
 * DeleteObjects, ListObjectsV2).
 */
import { createHash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import pRetry, { AbortError } from 'p-retry';
import { type Blobs, isKey, OBJECT_TYPE, provesStorage, requireKey, requirePrefix } from './blob-store.ts';

/** Credentials, named as in the environment of the AWS tools. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Thrown if the bucket refuses a request or keeps failing. */
class S3Error extends Error {
  readonly status: number;

  constructor(operation: string, status: number, code: string) {
    super(`S3 ${operation}: ${status}${code === '' ? '' : ` ${code}`}`);
    this.name = 'S3Error';
    this.status = status;
  }
}

const DEFAULT_REGION = 'us-east-1';
/** Keys of one DeleteObjects request, at most. */
const DELETED_TOGETHER = 1_000;
/** Of an answer: the largest object of the product is a voice sample of 20 MiB. */
const MOST_BYTES = 64 * 1024 * 1024;
const ATTEMPTS = 4;
const FIRST_WAIT_MS = 100;
/** For one attempt, including its body. */
const ATTEMPT_MS = 20_000;
/** Lifetime of an address to which others may write. */
const ADDRESS_SECONDS = 300;

/**
 * Opens `s3://bucket[/prefix][?endpoint=https://…][&region=…]`. With an endpoint the bucket is part of the
 * path, at AWS part of the host name. Throws if the URL is malformed.
 */
export function createS3Blobs(url: string, credentials: S3Credentials): Blobs {
  const { base, region, root } = parseUrl(url);
  const client = new AwsClient({ ...credentials, service: 's3', region, retries: 0 });
  const request = new Requester(client, base);
  return {
    isBucket: true,
    put: async (key, bytes) => {
      requireKey(key);
      await request.send({ operation: 'put', method: 'PUT', path: root + key, body: bytes });
    },
    putAddress: async (key, bytes) => {
      requireKey(key);
      const address = request.addressOf(root + key);
      address.searchParams.set('X-Amz-Expires', String(ADDRESS_SECONDS));
      // A signed length and type, which aws4fetch leaves out otherwise.
      const signed = await client.sign(address, {
        method: 'PUT',
        headers: { 'content-length': String(bytes), 'content-type': OBJECT_TYPE },
        aws: { signQuery: true, allHeaders: true },
      });
      return signed.url;
    },
    get: async (key) => {
      requireKey(key);
      return await request.send({ operation: 'get', method: 'GET', path: root + key });
    },
    list: async (prefix) => {
      requirePrefix(prefix);
      return await listAll(request, root, prefix);
    },
    delete: async (key) => {
      requireKey(key);
      await request.send({ operation: 'delete', method: 'DELETE', path: root + key });
    },
    deletePrefix: async (prefix) => {
      if (prefix === '') throw new Error('deletePrefix needs a prefix');
      requirePrefix(prefix);
      const keys = await listAll(request, root, prefix);
      for (let first = 0; first < keys.length; first += DELETED_TOGETHER)
        await deleteAll(
          request,
          keys.slice(first, first + DELETED_TOGETHER).map((key) => root + key),
        );
      return keys.length;
    },
  };
}

function parseUrl(url: string): { readonly base: string; readonly region: string; readonly root: string } {
  const parsed = new URL(url);
  const bucket = parsed.hostname;
  if (parsed.protocol !== 's3:' || bucket === '')
    throw new Error('an S3 address must look like s3://bucket?endpoint=https://host&region=name');
  const region = parsed.searchParams.get('region') ?? DEFAULT_REGION;
  const endpoint = parsed.searchParams.get('endpoint');
  const base =
    endpoint === null
      ? `https://${bucket}.s3.${region}.amazonaws.com/`
      : `${endpoint.replace(/(?<!\/)\/+$/, '')}/${bucket}/`;
  if (!/^https?:$/.test(new URL(base).protocol))
    throw new Error('the endpoint of an S3 address must be http or https');
  const path = parsed.pathname.replace(/^\/+|(?<!\/)\/+$/g, '');
  requirePrefix(path);
  return { base, region, root: path === '' ? '' : `${path}/` };
}

interface S3Request {
  readonly operation: string;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

class Requester {
  readonly #client: AwsClient;
  readonly #base: string;

  constructor(client: AwsClient, base: string) {
    this.#client = client;
    this.#base = base;
  }

  /**
   * Sends a request and repeats it after temporary failures. Returns the body of the answer; null if there is
   * no such object.
   */
  send(request: S3Request): Promise<Buffer | null> {
    return pRetry(() => this.#attempt(request), {
      retries: ATTEMPTS - 1,
      minTimeout: FIRST_WAIT_MS,
      factor: 3,
      randomize: true,
    });
  }

  addressOf(path: string): URL {
    return new URL(this.#base + path.split('/').map(encodeURIComponent).join('/'));
  }

  async #attempt({ operation, method, path, query, body, ...rest }: S3Request): Promise<Buffer | null> {
    const url = this.addressOf(path);
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const payload = Buffer.from(body ?? []);
    // The signature covers the body, which protects it even without encryption.
    const headers = {
      'x-amz-content-sha256': createHash('sha256').update(payload).digest('hex'),
      ...rest.headers,
    };
    const response = await this.#client.fetch(url.toString(), {
      method,
      headers,
      ...(body && { body: payload }),
      signal: AbortSignal.timeout(ATTEMPT_MS),
    });
    const answer = await bodyOf(response, operation);
    if (response.ok && method === 'PUT' && !provesStorage(response.headers.get('etag')))
      throw new AbortError(new S3Error(operation, response.status, 'without ETag'));
    if (response.ok) return answer;
    const code = tags(answer.toString('utf8'), 'Code')[0] ?? '';
    if (response.status === 404 && /^(?:GET|DELETE)$/.test(method) && code !== 'NoSuchBucket') return null;
    const error = new S3Error(operation, response.status, code);
    // 501: it does not know the request.
    if (response.status === 501) throw new AbortError(error);
    if (response.status >= 500 || response.status === 429 || response.status === 408) throw error;
    throw new AbortError(error);
  }
}

/** Rejects if it is too large: others may write to the bucket, too. */
async function bodyOf(response: Response, operation: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new AbortError(new S3Error(operation, response.status, 'TooLarge'));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function deleteAll(request: Requester, paths: readonly string[]): Promise<void> {
  if (await areDeletedTogether(request, paths)) return;
  // The store does not know such requests, or has refused some of the keys: the reason of one is the error.
  for (const path of paths) await request.send({ operation: 'delete', method: 'DELETE', path });
}

async function areDeletedTogether(request: Requester, paths: readonly string[]): Promise<boolean> {
  const objects = paths
    .map((path) => `<Object><Key>${path.replaceAll('&', '&amp;')}</Key></Object>`)
    .join('');
  const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';
  const body = Buffer.from(`<Delete xmlns="${namespace}"><Quiet>true</Quiet>${objects}</Delete>`);
  const headers = {
    'content-type': 'application/xml',
    'content-md5': createHash('md5').update(body).digest('base64'),
  };
  const query = { delete: '' };
  try {
    const answer = await request.send({
      operation: 'delete',
      method: 'POST',
      path: '',
      query,
      body,
      headers,
    });
    const text = answer?.toString('utf8') ?? '';
    return text.includes('<DeleteResult') && tags(text, 'Code').every((code) => code === 'NoSuchKey');
  } catch (error) {
    if (error instanceof S3Error) return false;
    throw error;
  }
}

async function listAll(request: Requester, root: string, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for (let token: string | undefined; ; ) {
    const query = {
      'list-type': '2',
      prefix: root + prefix,
      ...(token !== undefined && { 'continuation-token': token }),
    };
    const page =
      (await request.send({ operation: 'list', method: 'GET', path: '', query }))?.toString('utf8') ?? '';
    const found = tags(page, 'Key').filter((key) => key.startsWith(root));
    // The bucket may contain objects of others.
    keys.push(...found.map((key) => key.slice(root.length)).filter(isKey));
    token = tags(page, 'NextContinuationToken')[0];
    if (token === undefined || tags(page, 'IsTruncated')[0] !== 'true') return keys.sort();
  }
}

/**
 * Returns the text of every element with this name. Only `&` needs unescaping in our keys; tokens may contain
 * more.
 */
function tags(xml: string, name: string): string[] {
  return [...xml.matchAll(/<([A-Za-z]+)>([^<]*)<\//g)]
    .filter((match) => match[1] === name)
    .map((match) =>
      (match[2] ?? '')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&'),
    );
}
