/** Shortens large schemas: a model reads the schemas of all tools before its first call. */

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** Longer schemas are shortened, characters. */
const MOST_CHARACTERS = 6_000;
/** Levels of properties that are kept. */
const LEVELS = 2;

/** The schema, or its outline with `more` saying where the whole one is. */
export function outlineOf(schema: Schema, more: string): Schema {
  if (JSON.stringify(schema).length <= MOST_CHARACTERS) return schema;
  const outline = cut(schema, LEVELS);
  return { ...outline, description: [outline['description'], more].filter(Boolean).join(' ') };
}

function cut(schema: Schema, levels: number): Schema {
  const properties = schema['properties'] as Readonly<Record<string, Schema>> | undefined;
  const { description, type, enum: members, items, anyOf } = schema;
  if (!properties)
    return compact({
      type,
      enum: members,
      description,
      ...(items ? { items: cut(items as Schema, 0) } : {}),
      ...(anyOf ? { anyOf: (anyOf as Schema[]).map((each) => cut(each, 0)) } : {}),
    });
  const names = Object.keys(properties);
  if (levels === 0)
    return compact({
      type,
      description: [description, `Fields: ${names.join(', ')}.`].filter(Boolean).join(' '),
    });
  return compact({
    type,
    description,
    required: schema['required'],
    properties: Object.fromEntries(names.map((name) => [name, cut(properties[name] ?? {}, levels - 1)])),
  });
}

function compact(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
