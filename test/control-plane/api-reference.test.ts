/** Every operation, parameter and field of `/openapi.json` has a text, in webhooks too; none is left over. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fields from '#control-plane/platform/http/reference/fields.json' with { type: 'json' };
import operations from '#control-plane/platform/http/reference/operations.json' with { type: 'json' };
import { openTestApi, type TestApi } from './test-api.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** A parameter, or a field of a body or an answer; fields of errors belong to `error`. */
interface Place {
  readonly scope: string;
  readonly path: string;
  readonly text: string | undefined;
}

let api: TestApi;
let described: [string, Operation][];
let places: Place[];
let hooks: Place[];

beforeAll(async () => {
  api = await openTestApi();
  const { paths, webhooks } = (await api.request('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, Operation>>;
    webhooks: Record<string, { post: Operation }>;
  };
  described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
  hooks = Object.values(webhooks).flatMap(({ post }) => placesOf('webhook', post));
  places = [...described.flatMap(([name, operation]) => placesOf(name, operation)), ...hooks];
});
afterAll(() => api.close());

function placesOf(name: string, { parameters = [], requestBody, responses }: Operation): Place[] {
  const bodies: [string, Content][] = [
    [name, requestBody?.content ?? {}],
    ...Object.entries(responses).map(([status, { content = {} }]): [string, Content] => [
      status.startsWith('2') ? name : 'error',
      content,
    ]),
  ];
  return [
    ...parameters.map((parameter) => ({ scope: name, path: parameter.name, text: parameter.description })),
    ...bodies.flatMap(([scope, content]) =>
      Object.values(content).flatMap(({ schema }) => (schema ? fieldsOf(schema, scope, []) : [])),
    ),
  ];
}

function fieldsOf(schema: Schema, scope: string, path: readonly string[]): Place[] {
  const { items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      { scope, path: [...path, name].join('.'), text: field.description },
      ...fieldsOf(field, scope, [...path, name]),
    ]),
    ...[...(items ? [items] : []), ...values, ...anyOf, ...oneOf, ...allOf].flatMap((part) =>
      fieldsOf(part, scope, path),
    ),
  ];
}

describe('the reference of the API', () => {
  it('has a summary and a description of every operation', () => {
    expect(described.length).toBeGreaterThan(130);
    expect(
      described
        .filter(([, { summary, description }]) => !(summary && description))
        .map(([operation]) => operation),
    ).toEqual([]);
  });

  it('describes every parameter and every field', () => {
    expect(places.length).toBeGreaterThan(3_000);
    expect(hooks.length).toBeGreaterThan(80);
    const bare = places.filter(({ text }) => !text).map(({ scope, path }) => `${scope} ${path}`);
    expect([...new Set(bare)]).toEqual([]);
  });

  it('tells what a turn expected of the caller from what a test expects of the agent', () => {
    const textsOf = (ending: string) =>
      new Set(places.filter(({ path }) => path.endsWith(ending)).map(({ text }) => text));
    expect([...textsOf('turns.expectation')]).toEqual([expect.stringContaining('the agent had asked for')]);
  });

  it('has no text of an operation or a field that does not exist', () => {
    const names = new Set(described.map(([name]) => name));
    expect(Object.keys(operations).filter((name) => !names.has(name))).toEqual([]);
    const suffixes = new Set(
      places.flatMap(({ scope, path }) => {
        const parts = path.split('.');
        const each = parts.map((_, index) => parts.slice(index).join('.'));
        return [...each, ...each.map((suffix) => `${scope} ${suffix}`)];
      }),
    );
    expect(Object.keys(fields).filter((key) => !suffixes.has(key))).toEqual([]);
  });
});
