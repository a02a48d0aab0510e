/** Values for a JSON schema of the API description: mostly valid, with occasional hostile values. */
import fc from 'fast-check';
import type { JsonSchema } from '#control-plane/platform/http/example-of.ts';

/**
 * Contained in every hostile text; no refusal may repeat it. It is not a valid field name, because refusals
 * name unknown fields.
 */
export const MARK = 'sk planted/5f3a';

const HOSTILE: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    -0.5,
    Number.MAX_SAFE_INTEGER,
    '',
    ' ',
    MARK,
    `${MARK}\u0000`,
    `\ud800${MARK}`,
    `{{system.${MARK}}}`,
    `{{${MARK}}}`,
    `https://${MARK}.example.com/`,
    `http://user:${MARK}@127.0.0.1/`,
    '+14155550123',
    '$where',
    '__proto__',
    '../../etc/passwd',
    'x'.repeat(5_000),
    '9'.repeat(400),
    '2026-02-30T25:61:00Z',
    [],
    {},
    [[[[[]]]]],
    { $set: { a: MARK } },
    { constructor: { prototype: MARK } },
  ),
  fc.string(),
  fc.double({ noNaN: true }),
);

/** A valid value of the schema, or one that is invalid in about one of eight places. */
export function arbitraryOf(schema: JsonSchema, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 7, arbitrary: wellFormed(schema, depth) }, { weight: 1, arbitrary: HOSTILE });
}

function wellFormed(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return fc.oneof(...branches.map((branch) => arbitraryOf(branch, depth)));
  if (schema.allOf)
    return fc
      .tuple(...schema.allOf.map((part) => wellFormed(part, depth)))
      .map((parts) => Object.assign({}, ...parts));
  const types = [schema.type ?? []].flat();
  return types.length === 0 ? HOSTILE : fc.oneof(...types.map((type) => ofType(type, schema, depth)));
}

function ofType(type: string, schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return objectOf(schema, depth);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}, depth + 1), { maxLength: depth > 3 ? 1 : 3 });
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -10, max: Math.min(schema.maximum ?? 10_000, 2 ** 31 - 1) });
    case 'number':
      return fc.double({ min: schema.minimum ?? -10, max: schema.maximum ?? 10_000, noNaN: true });
    case 'boolean':
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

function objectOf(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, arbitraryOf(field, depth + 1)]),
  );
  const declared = fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
  const surplus = fc.dictionary(fc.constantFrom('$set', 'a.b', 'x y', MARK, 'surplus'), HOSTILE, {
    maxKeys: 1,
  });
  const isMap = typeof schema.additionalProperties === 'object';
  const entries = isMap
    ? fc.dictionary(
        fc.constantFrom('a', 'name_2', 'X-A', '1bad'),
        arbitraryOf(schema.additionalProperties as JsonSchema, depth + 1),
      )
    : fc.constant({});
  return fc
    .tuple(
      declared,
      entries,
      fc.oneof({ weight: 12, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: surplus }),
    )
    .map(([known, more, odd]) => ({ ...known, ...more, ...odd }));
}

function textOf({ format, minLength = 0, maxLength = 40, pattern }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc.constantFrom('2026-03-02T15:04:05.000Z', '2027-01-01T00:00:00+02:00', '1970-01-01T00:00:00Z');
  if (pattern !== undefined)
    return fc.constantFrom('name', 'en', '415', '1', 'X-A', '#', 'trunk.example.com:5060', '203.0.113.7');
  return fc.oneof(
    fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) }),
    fc.constantFrom('Ada', 'https://a.example.com/hook', '+15550100077', 'Europe/Rome', '5.00'),
  );
}
