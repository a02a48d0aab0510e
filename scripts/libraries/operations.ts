/** The operations of the API as the libraries have them: names, parameters, bodies and answers. */
import { entityOf, type Place, pascal, placeOf, subjectOf } from './names.ts';
import { either, type JsonSchema, type Shape, Shapes } from './shapes.ts';

type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
}

interface Described {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
}

/** `/openapi.json`, as far as the libraries need it. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Described }>>;
}

/** An answer. `rows` is the field of a page that has its rows. */
export type Answer =
  | { readonly kind: 'json'; readonly shape: Shape }
  | { readonly kind: 'nothing' | 'bytes' | 'events' }
  | { readonly kind: 'pages'; readonly page: Shape; readonly row: Shape; readonly rows: string };

/** A method of the libraries. */
export interface Operation extends Place {
  readonly verb: string;
  readonly path: string;
  readonly text: string;
  readonly pathParameters: readonly { readonly name: string; readonly shape: Shape }[];
  readonly query: Shape | null;
  readonly body: Shape | null;
  readonly isForm: boolean;
  readonly answer: Answer;
  /** Two equal requests have the effect of one. */
  readonly isRepeatable: boolean;
  /** The route knows `Idempotency-Key`. */
  readonly takesKey: boolean;
}

/** The API of the libraries. */
export interface Api {
  readonly operations: readonly Operation[];
  readonly shapes: Shapes;
}

interface Route extends Place {
  readonly verb: string;
  readonly path: string;
  readonly described: Described;
}

/** Routes in other vendors' protocols, for which there are other libraries. */
const OTHER_PROTOCOLS = /^\/compat\//;
/** Routes for browsers: they take the token of a session, a signature or nothing instead of a key. */
const FOR_BROWSERS = new Set([
  'GET /v1/agent/agents/{agent_id}/widget',
  'GET /v1/agent/sessions/{session_id}/recording/{file}',
  'POST /v1/agent/sessions/{session_id}/participants/{participant_id}/webrtc',
  'POST /v1/agent/sessions/{session_id}/webrtc',
]);
/** Every other POST does again what it has done (docs/using-the-api.md). */
const REPEATABLE_POSTS = new Set([
  'POST /admin/wallet/{user_id}/top-up',
  'POST /v1/agent/agents/{agent_id}/publish',
  'POST /v1/agent/do-not-call',
  'POST /v1/agent/erasures',
  'POST /v1/agent/sessions/{session_id}/end',
  'POST /v1/agent/text-sessions/{text_session_id}/end',
]);
/** Routes whose bodies and queries name the types that they share with others. */
const NAMED_FIRST: Readonly<Record<string, string>> = {
  'GET /v1/agent/audit-log': 'PageQuery',
  'PATCH /v1/agent/agents/{agent_id}/config': 'AgentConfigChange',
  'POST /v1/agent/sessions': 'SessionCreateRequest',
};
/** Parameters of paths that are numbers; the API answers 404 to any other text. */
const NUMBERED = new Set(['version_number']);
const VERBS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'multipart/form-data';

/** Reads the description. Throws if two routes have the same name. */
export function readApi(document: ApiDocument): Api {
  const routes = routesOf(document);
  const names = new Map<string, string>();
  for (const { resource, method, verb, path } of routes) {
    const name = `${resource}.${method}`;
    const other = names.get(name);
    if (other !== undefined) throw new Error(`${verb} ${path} and ${other} are both ${name}`);
    names.set(name, `${verb} ${path}`);
  }
  const shapes = new Shapes();
  const answers = new Map<Route, Answer>();
  for (const route of [...routes].sort((one, other) => turnOf(one) - turnOf(other)))
    answers.set(route, answerOf(route, shapes));
  for (const route of routes) nameShared(route, shapes);
  const operations = routes.map((route) =>
    operationOf(route, answers.get(route) ?? { kind: 'nothing' }, shapes),
  );
  nameEvents(document, shapes);
  return { operations, shapes };
}

/** A thing that is read alone names its type, before rows of lists and answers to changes do. */
function turnOf({ verb, method }: Route): number {
  if (verb === 'GET') return method === 'get' ? 0 : method.startsWith('get') ? 1 : 2;
  return method === 'create' ? 3 : 4;
}

function nameShared({ verb, path, described }: Route, shapes: Shapes): void {
  const name = NAMED_FIRST[`${verb} ${path}`];
  if (name === undefined) return;
  const body = described.requestBody?.content?.[JSON_TYPE]?.schema;
  if (body) shapes.of(body, name);
  else queryOf(described.parameters ?? [], name, shapes);
}

/** In an order that does not depend on where the product registers a route. */
function routesOf({ paths }: ApiDocument): Route[] {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const verb = method.toUpperCase();
      return { verb, path, described, ...placeOf(verb, path, isList(verb, path, described)) };
    }),
  );
  const rank = ({ resource, path, verb }: Route) => `${resource} ${path} ${VERBS.indexOf(verb)}`;
  return routes
    .filter(({ path, verb }) => !OTHER_PROTOCOLS.test(path) && !FOR_BROWSERS.has(`${verb} ${path}`))
    .sort((one, other) => (rank(one) < rank(other) ? -1 : 1));
}

/** Whether a route answers with a list: of pages, or of one field with all rows. */
function isList(verb: string, path: string, described: Described): boolean {
  if (verb !== 'GET' || path.endsWith('}')) return false;
  const { properties = {} } = successOf(described)?.[JSON_TYPE]?.schema ?? {};
  const rows = Object.values(properties).filter(({ type }) => type === 'array');
  const others = Object.keys(properties).length - rows.length;
  return (
    rows.length === 1 && (others === 0 || 'has_more' in properties || (others === 1 && 'total' in properties))
  );
}

function successOf({ responses = {} }: Described): Content | undefined {
  return Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content;
}

function answerOf(route: Route, shapes: Shapes): Answer {
  const content = successOf(route.described) ?? {};
  const [type] = Object.keys(content);
  if (type === undefined) return { kind: 'nothing' };
  if (type === 'text/event-stream') return { kind: 'events' };
  if (type !== JSON_TYPE) return { kind: 'bytes' };
  const schema = content[type]?.schema ?? {};
  const { properties = {} } = schema;
  if (schema.type === 'object' && Object.keys(properties).length === 0 && !schema.additionalProperties)
    return { kind: 'nothing' };
  const subject = subjectOf(route);
  const rows = Object.entries(properties).find(([, { type: kind }]) => kind === 'array');
  if (route.verb === 'GET' && rows && 'has_more' in properties) {
    const [name, { items = {} }] = rows;
    const row = shapes.of(items, shapes.types.has(subject) ? `${subject}Row` : subject);
    return { kind: 'pages', rows: name, row, page: shapes.of(schema, `${subject}Page`) };
  }
  return { kind: 'json', shape: shapes.of(schema, nameOfAnswer(route)) };
}

function nameOfAnswer(route: Route): string {
  const { resource, method, verb, path } = route;
  // The only thing of its resource, such as the account.
  if (method === 'get' && !path.includes('{')) return pascal(resource);
  if (verb === 'GET' && method.startsWith('get')) return subjectOf(route);
  return `${entityOf(resource)}${pascal(method)}Answer`;
}

function operationOf(route: Route, answer: Answer, shapes: Shapes): Operation {
  const { resource, method, verb, path, described } = route;
  const { parameters = [], requestBody, summary = '', description = '' } = described;
  const name = `${entityOf(resource)}${pascal(method)}`;
  const content = requestBody?.content ?? {};
  const isForm = FORM_TYPE in content && !(JSON_TYPE in content && !hasFiles(content[JSON_TYPE]?.schema));
  const schema = content[isForm ? FORM_TYPE : JSON_TYPE]?.schema;
  return {
    resource,
    method,
    verb,
    path,
    text: `${summary}. ${description}`,
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => {
      const described = parameters.find((one) => one.name === parameter)?.schema ?? { type: 'string' };
      return {
        name: parameter,
        shape: shapes.of(NUMBERED.has(parameter) ? { type: 'integer' } : described, name),
      };
    }),
    query: queryOf(parameters, `${name}Query`, shapes),
    body: schema ? shapes.of(schema, `${name}Request`) : null,
    isForm,
    answer,
    isRepeatable: verb !== 'POST' || REPEATABLE_POSTS.has(`${verb} ${path}`),
    takesKey: parameters.some((one) => one.in === 'header' && one.name.toLowerCase() === 'idempotency-key'),
  };
}

/** Whether a body contains files, which JSON cannot. */
function hasFiles(schema: JsonSchema = {}): boolean {
  return JSON.stringify(schema).includes('"format":"binary"');
}

function queryOf(parameters: readonly Parameter[], name: string, shapes: Shapes): Shape | null {
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  if (inQuery.length === 0) return null;
  const properties = inQuery.map(({ name: field, schema = {}, description }) => [
    field,
    { ...asQuery(schema), ...(description === undefined ? {} : { description }) },
  ]);
  const required = inQuery.filter((parameter) => parameter.required).map((parameter) => parameter.name);
  return shapes.of({ type: 'object', properties: Object.fromEntries(properties), required }, name);
}

/** A flag of a query may also be a boolean: the libraries write it as text. */
function asQuery(schema: JsonSchema): JsonSchema {
  return schema.enum?.includes('true') ? { type: 'boolean' } : schema;
}

/** The payloads of webhooks, and `WebhookEvent` for any of them. */
function nameEvents({ webhooks }: ApiDocument, shapes: Shapes): void {
  const events = Object.entries(webhooks)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([event, { post }]) =>
      shapes.of(post.requestBody?.content?.[JSON_TYPE]?.schema ?? {}, `${pascal(event)}Event`),
    );
  shapes.alias('WebhookEvent', either(events));
}
