/**
 * Texts of the API reference: a summary and a description of each operation, and a description of each field.
 * They complete the generated OpenAPI description. A field that needs its text beside its code has it in its
 * own schema.
 */
import fields from './fields.json' with { type: 'json' };
import operations from './operations.json' with { type: 'json' };

/** An OpenAPI description, as far as texts are added to it. */
interface Description {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Parameter {
  readonly name: string;
  description?: string;
  readonly schema?: { readonly description?: string };
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Schema {
  description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

const FIELDS: Readonly<Record<string, string>> = fields;
const OPERATIONS: Readonly<Record<string, { readonly summary: string; readonly description: string }>> =
  operations;
/** Scope of the fields of errors, which are the same for every operation. */
const ERROR = 'error';
/** Scope of the fields of webhooks, most of which all events have. */
const WEBHOOK = 'webhook';

/** Adds the missing texts to an OpenAPI description, in place. */
export function addReferenceTexts({ paths = {} }: Description): void {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods))
      describeOperation(`${method.toUpperCase()} ${path}`, operation);
  }
}

/** Adds the missing texts to the `webhooks` section, in place. */
export function addWebhookTexts(webhooks: Readonly<Record<string, { readonly post: Operation }>>): void {
  for (const { post } of Object.values(webhooks)) {
    describeContent(WEBHOOK, post.requestBody?.content);
    for (const { content } of Object.values(post.responses ?? {})) describeContent(WEBHOOK, content);
  }
}

function describeOperation(name: string, operation: Operation): void {
  const texts = OPERATIONS[name];
  Object.assign(operation, texts);
  for (const parameter of operation.parameters ?? [])
    fill(parameter, parameter.schema?.description ?? textOf(name, [parameter.name]));
  describeContent(name, operation.requestBody?.content);
  for (const [status, { content }] of Object.entries(operation.responses ?? {}))
    describeContent(status.startsWith('2') ? name : ERROR, content);
}

function describeContent(scope: string, content: Content = {}): void {
  for (const { schema } of Object.values(content)) if (schema) describeFields(schema, { scope, path: [] });
}

/** Where a field is: its operation, and the names of the fields around it. */
interface Place {
  readonly scope: string;
  readonly path: readonly string[];
}

function describeFields(schema: Schema, { scope, path }: Place): void {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const inner = [...path, name];
    fill(field, textOf(scope, inner));
    describeFields(field, { scope, path: inner });
  }
  const { items, additionalProperties } = schema;
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  const parts = [...(items ? [items] : []), ...values, ...(schema.anyOf ?? [])];
  for (const part of [...parts, ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    describeFields(part, { scope, path });
}

/**
 * The text of a field. Keys are names with as many of the surrounding names as are needed to tell fields
 * apart (`sip_config.username`), after an operation where only that does (`GET /v1/agent/sessions status`).
 * The most specific key counts.
 */
function textOf(scope: string, path: readonly string[]): string | undefined {
  const suffixes = path.map((_, index) => path.slice(index).join('.'));
  const key = [...suffixes.map((suffix) => `${scope} ${suffix}`), ...suffixes].find((each) =>
    Object.hasOwn(FIELDS, each),
  );
  return key === undefined ? undefined : FIELDS[key];
}

/** Sets a missing description. */
function fill(described: { description?: string }, text: string | undefined): void {
  if (text !== undefined) described.description ??= text;
}
