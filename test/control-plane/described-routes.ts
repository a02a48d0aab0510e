/** The routes of the API as `/openapi.json` describes them, for tests that cover all of them. */
import type { TestApi } from './test-api.ts';

/** HTTP methods of described routes. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A body or an answer of one content type. */
export interface Media {
  readonly schema: object;
  readonly example: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly schema: object;
}

/** A described route. */
export interface Route {
  /** `METHOD /path/{id}`. */
  readonly name: string;
  readonly method: Method;
  readonly path: string;
  /** Its path with ids that do not exist. */
  readonly url: string;
  /** `none` if it takes no key, `optional` if the key is optional. */
  readonly access: 'key' | 'operator' | 'optional' | 'none';
  readonly bodies: ReadonlyMap<string, Media>;
  /** Successes and refusals by status; the inner map is empty where there is no body. */
  readonly answers: ReadonlyMap<string, ReadonlyMap<string, Media>>;
  readonly parameters: readonly Parameter[];
}

interface Operation {
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

/** An event stream: its success response never ends, only its refusals do. */
export const ENDLESS = 'GET /v1/agent/events';

/** An OpenAPI description. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Reads the description of an API under test. */
export async function describedRoutes(api: Pick<TestApi, 'request'>): Promise<Route[]> {
  return routesOf((await api.request('GET', '/openapi.json')).body);
}

/** The routes of a description. */
export function routesOf({ paths }: Description): Route[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      routeOf(path, method.toUpperCase() as Method, operation as Operation),
    ),
  );
}

function routeOf(
  path: string,
  method: Method,
  { security, requestBody, parameters = [], responses }: Operation,
): Route {
  return {
    name: `${method} ${path}`,
    method,
    path,
    url: path.replace('{index}', '0').replace(/\{[a-z_]+\}/g, 'missing'),
    access: accessOf(path, security),
    bodies: new Map(Object.entries(requestBody?.content ?? {})),
    answers: new Map(
      Object.entries(responses).map(([status, { content }]) => [
        status,
        new Map(Object.entries(content ?? {})),
      ]),
    ),
    parameters,
  };
}

function accessOf(path: string, security: readonly object[] | undefined): Route['access'] {
  if (path.startsWith('/admin')) return 'operator';
  if (security?.length === 0) return 'none';
  return security ? 'optional' : 'key';
}

/** Encodes a body for a request: as JSON, or as a form whose files are given as text. */
export async function encoded(
  type: string,
  body: object,
): Promise<{ body: object } | { raw: Buffer; headers: Record<string, string> }> {
  if (type === 'application/json') return { body };
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (name === 'source' || name === 'voices' || name === 'audio')
      form.set(name, new File([String(value)], 'menu.md'));
    else form.set(name, String(value));
  }
  const request = new Request('http://parley', { method: 'POST', body: form });
  return {
    raw: Buffer.from(await request.arrayBuffer()),
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
  };
}
