/**
 * A stand-in for S3: PutObject, GetObject, DeleteObject, DeleteObjects and ListObjectsV2 with path-style
 * addresses, over HTTP on the loopback. It checks Signature Version 4 with its own code, lists two keys per
 * page unless told otherwise, and can simulate failures and a slow answer.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The credentials it accepts. */
export const S3_CREDENTIALS = { accessKeyId: 'AKIATEST', secretAccessKey: 'a-secret/of+tests' };

const PAGE_KEYS = 2;

/** A running server. */
export interface S3Server {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** Requests seen so far, as `METHOD /path`. */
  readonly requests: string[];
  /** Outcomes of the next requests, instead of normal service: a status, or `hang-up`. */
  readonly failures: (number | 'hang-up')[];
  /** Answers to every request with a method, instead of normal service. */
  readonly answers: Map<string, { readonly status: number; readonly body: string }>;
  close(): Promise<void>;
}

/** Starts the server with one bucket, `calls`. */
export async function startS3Server({ pageKeys = PAGE_KEYS, answerAfterMs = 0 } = {}): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  const failures: (number | 'hang-up')[] = [];
  const answers: S3Server['answers'] = new Map();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      if (answerAfterMs > 0) await new Promise((resolve) => setTimeout(resolve, answerAfterMs));
      requests.push(`${request.method} ${request.url?.split('?')[0]}`);
      const failure = failures.shift();
      const answer = answers.get(request.method ?? '');
      if (failure === 'hang-up') request.socket.destroy();
      else if (failure !== undefined) refuse(response, failure, 'SlowDown');
      else if (answer) response.writeHead(answer.status).end(answer.body);
      else serve(objects, request, { response, body: Buffer.concat(chunks), pageKeys });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    requests,
    failures,
    answers,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function serve(
  objects: Map<string, Buffer>,
  request: IncomingMessage,
  exchange: { response: ServerResponse; body: Buffer; pageKeys: number },
): void {
  const { response, body, pageKeys } = exchange;
  const url = new URL(request.url ?? '/', 'http://s3');
  const [, bucket, ...rest] = decodeURIComponent(url.pathname).split('/');
  const key = rest.join('/');
  if (!isSigned(request, url, body)) refuse(response, 403, 'SignatureDoesNotMatch');
  else if (bucket !== 'calls') refuse(response, 404, 'NoSuchBucket');
  else if (request.method === 'PUT') putObject(objects, request, { response, key, body });
  else if (request.method === 'POST' && url.searchParams.has('delete')) {
    const md5 = createHash('md5').update(body).digest('base64');
    if (request.headers['content-md5'] !== md5) {
      refuse(response, 400, 'InvalidDigest');
      return;
    }
    for (const [, deleted = ''] of body.toString('utf8').matchAll(/<Key>([^<]*)<\/Key>/g))
      objects.delete(deleted.replaceAll('&amp;', '&'));
    response.end('<?xml version="1.0"?><DeleteResult></DeleteResult>');
  } else if (request.method === 'DELETE') {
    objects.delete(key);
    response.writeHead(204).end();
  } else if (key === '') list(objects, url, { response, pageKeys });
  else if (objects.has(key)) response.end(objects.get(key));
  else refuse(response, 404, 'NoSuchKey');
}

function putObject(
  objects: Map<string, Buffer>,
  request: IncomingMessage,
  { response, key, body }: { response: ServerResponse; key: string; body: Buffer },
): void {
  const md5 = createHash('md5').update(body);
  const given = request.headers['content-md5'];
  if (given !== undefined && given !== md5.copy().digest('base64')) refuse(response, 400, 'BadDigest');
  else {
    objects.set(key, body);
    response.writeHead(200, { etag: `"${md5.digest('hex')}"` }).end();
  }
}

function list(
  objects: Map<string, Buffer>,
  url: URL,
  { response, pageKeys }: { response: ServerResponse; pageKeys: number },
): void {
  const prefix = url.searchParams.get('prefix') ?? '';
  const after = url.searchParams.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, pageKeys);
  const isTruncated = keys.length > page.length;
  const contents = page
    .map((key) => `<Contents><Key>${key.replaceAll('&', '&amp;')}</Key></Contents>`)
    .join('');
  const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  response.end(
    `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>` +
      `${contents}${next}</ListBucketResult>`,
  );
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<Error><Code>${code}</Code></Error>`);
}

const AUTHORIZATION =
  /Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})/;

/** The claims of a request: in its headers, or in its address, which then covers no bytes. */
function claimOf(request: IncomingMessage, url: URL, body: Buffer) {
  const parts = AUTHORIZATION.exec(request.headers.authorization ?? '');
  if (parts) {
    const [, keyId, day = '', region = '', names = '', signature] = parts;
    const hash = sha256(body);
    if (request.headers['x-amz-content-sha256'] !== hash) return null;
    return { keyId, day, region, names, signature, hash, date: String(request.headers['x-amz-date']) };
  }
  const parameter = (name: string) => url.searchParams.get(`X-Amz-${name}`) ?? '';
  const [keyId, day = '', region = ''] = parameter('Credential').split('/');
  const names = parameter('SignedHeaders');
  return {
    ...{ keyId, day, region, names, signature: parameter('Signature'), date: parameter('Date') },
    hash: 'UNSIGNED-PAYLOAD',
  };
}

/** Verifies AWS Signature Version 4 over the headers that the client lists as signed. */
function isSigned(request: IncomingMessage, url: URL, body: Buffer): boolean {
  const claim = claimOf(request, url, body);
  if (claim?.keyId !== S3_CREDENTIALS.accessKeyId) return false;
  const { day, region, names, signature, hash, date } = claim;
  const expires = url.searchParams.get('X-Amz-Expires');
  if (expires !== null && msOf(date) + 1_000 * Number(expires) < Date.now()) return false;
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort()
    .join('&');
  const headers = names
    .split(';')
    .map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`)
    .join('');
  const canonicalPath = decodeURIComponent(url.pathname).split('/').map(percentEncode).join('/');
  const canonical = [request.method, canonicalPath, query, headers, names, hash].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', date, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const key = ['s3', 'aws4_request'].reduce(
    hmac,
    hmac(hmac(`AWS4${S3_CREDENTIALS.secretAccessKey}`, day), region),
  );
  return hmac(key, toSign).toString('hex') === signature;
}

/** The time of a date such as `20260102T030405Z`. */
function msOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, '$1-$2-$3:$4:'));
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
