/** Requests for a described route, with a valid or hostile path, query, headers and body. */
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import type { Route } from '#test/control-plane/described-routes.ts';
import { arbitraryOf, MARK } from './arbitrary-of.ts';

/** A request as sent. */
export interface HostileRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

const ODD_IDS = [
  'missing',
  '0',
  '-1',
  '%00',
  '%2e%2e%2f',
  '%F0%9F%98%80',
  'a'.repeat(200),
  '%24where',
  encodeURIComponent(MARK),
  '__proto__',
];
const ODD_HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  {},
  {},
  { origin: 'null' },
  { origin: `https://${MARK}.example.com` },
  { 'x-forwarded-for': MARK, 'x-forwarded-host': MARK },
  { accept: 'text/html;q=0.1, */*;q=nonsense' },
  { 'content-encoding': 'gzip' },
  { 'idempotency-key': MARK },
  { 'idempotency-key': 'x'.repeat(4_000) },
  { model: `s1 ${MARK}` },
  { range: 'bytes=9-1,,-' },
  { traceparent: MARK },
  { cookie: `a=${MARK}; __proto__=1` },
  { expect: '100-continue' },
];
const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/msgpack',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/x-www-form-urlencoded',
  `application/${MARK}`,
  'nonsense',
];

/** Generates requests for a route; uses ids of existing objects where the path names one. */
export function hostileRequest(
  route: Route,
  ids: Readonly<Record<string, string>>,
): fc.Arbitrary<HostileRequest> {
  return fc
    .record({
      path: pathOf(route, ids),
      query: queryOf(route),
      headers: fc.constantFrom(...ODD_HEADERS),
      body: route.method === 'GET' ? fc.constant(null) : bodyOf(route),
    })
    .map(({ path, query, headers, body }) => ({
      path: path + query,
      headers: { ...headers, ...body?.headers },
      body: body?.bytes ?? null,
    }));
}

function pathOf(route: Route, ids: Readonly<Record<string, string>>): fc.Arbitrary<string> {
  const parts = route.path.split(/(\{[a-z_]+\})/).map((part) => {
    const id = part.startsWith('{') ? ids[part.slice(1, -1)] : undefined;
    if (!part.startsWith('{')) return fc.constant(part);
    return fc.oneof(
      { weight: 4, arbitrary: fc.constant(id ?? 'missing') },
      { weight: 1, arbitrary: fc.constantFrom(...ODD_IDS) },
    );
  });
  return fc.tuple(...parts).map((texts) => texts.join(''));
}

function queryOf(route: Route): fc.Arbitrary<string> {
  const fields = route.parameters.filter((parameter) => parameter.in === 'query');
  if (fields.length === 0)
    return fc.constantFrom('', '', `?surplus=${encodeURIComponent(MARK)}`, '?%zz', '?a[b]=1&a[b]=2');
  return fc
    .tuple(...fields.map(({ schema }) => fc.option(arbitraryOf(schema), { freq: 2 })))
    .map((values) => {
      const pairs = values.flatMap((value, index) =>
        value === null ? [] : [[fields[index]?.name ?? '', asText(value)]],
      );
      return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs as [string, string][])}`;
    });
}

interface Body {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer | null;
}

function bodyOf(route: Route): fc.Arbitrary<Body> {
  const schema = [...route.bodies.values()][0]?.schema ?? {};
  const fields = arbitraryOf(schema);
  const types = [...route.bodies.keys()];
  const declared = fc
    .tuple(fields, fc.constantFrom(...(types.length === 0 ? ['application/json'] : types)))
    .map(([value, type]) => carried(value, type));
  const odd = fc
    .tuple(
      fc.constantFrom(...CONTENT_TYPES),
      fc.oneof(fc.constantFrom('', '{', `{"a":"${MARK}"`, '--x\r\n\r\n', '[]', '\ufeff{}'), fc.string()),
    )
    .map(([type, text]) => ({ headers: { 'content-type': type }, bytes: Buffer.from(text) }));
  const bytes = fc
    .tuple(fc.constantFrom(...CONTENT_TYPES), fc.uint8Array({ maxLength: 200 }))
    .map(([type, raw]) => ({ headers: { 'content-type': type }, bytes: Buffer.from(raw) }));
  return fc.oneof(
    { weight: 8, arbitrary: declared },
    { weight: 1, arbitrary: odd },
    { weight: 1, arbitrary: bytes },
    { weight: 1, arbitrary: fc.constant({ headers: {}, bytes: null }) },
  );
}

function carried(value: unknown, type: string): Body {
  if (type === 'application/msgpack')
    return {
      headers: { 'content-type': type },
      bytes: Buffer.from(encode(JSON.parse(JSON.stringify(value ?? null)))),
    };
  if (type !== 'multipart/form-data')
    return {
      headers: { 'content-type': type },
      bytes: Buffer.from(
        type === 'application/x-www-form-urlencoded' ? asText(value) : JSON.stringify(value ?? null),
      ),
    };
  const parts = Object.entries(value ?? {}).map(
    ([name, field]) =>
      `--x\r\ncontent-disposition: form-data; name="${name.replace(/["\r\n]/g, '_')}"; ` +
      `filename="a.md"\r\n\r\n${asText(field)}\r\n`,
  );
  return {
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    bytes: Buffer.from(`${parts.join('')}--x--\r\n`),
  };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
}
