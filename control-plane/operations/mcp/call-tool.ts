/** Calls an operation of the API as a tool. */
import type { ApiTool } from './api-tools.ts';
import type { Schema } from './outline.ts';

/** Longest text of an answer, characters: a model reads all of it. */
const MOST_CHARACTERS = 200_000;

/** A request to the API. */
export interface ApiRequest {
  readonly method: ApiTool['method'];
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload?: Buffer;
}

/** Sends a request to the API as the caller of the MCP server. */
export type AskApi = (request: ApiRequest) => Promise<ApiAnswer>;

/** The API's answer. */
export interface ApiAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/** The result of a tool call, for the model. */
export interface ToolResult {
  readonly [further: string]: unknown;
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError: boolean;
}

/** Calls a tool. A refusal of the API is a result with `isError`; nothing is sent without a confirmation. */
export async function callTool(
  tool: ApiTool,
  input: Readonly<Record<string, unknown>>,
  ask: AskApi,
): Promise<ToolResult> {
  const problem = problemOf(tool, input);
  const url = urlOf(tool, input);
  if (problem !== null || url === null)
    return failed(
      `Not done: ${problem ?? `every parameter in ${tool.path} must be a text that is not empty.`}`,
    );
  const { headers, ...body } = await bodyOf(tool, input);
  const { status, retryAfter, text } = await ask({
    method: tool.method,
    url,
    headers: { ...headers, ...idempotencyOf(tool, input) },
    ...body,
  });
  const shown = shorten(text);
  if (status < 400) return { content: [{ type: 'text', text: shown || 'Done.' }], isError: false };
  const wait = retryAfter === null ? '' : ` Try again in ${retryAfter} s.`;
  return failed(`Refused with ${status}.${wait}\n${shown}`);
}

/** Why a call is not sent; null if it is. */
function problemOf(tool: ApiTool, input: Readonly<Record<string, unknown>>) {
  const { isConfirmed, title, known } = tool;
  if ((isConfirmed || isSpending(tool, input)) && input['confirm'] !== true)
    return (
      `"${title}" ${isConfirmed ? 'takes effect at once' : 'with this body costs money'}. Tell the person ` +
      'what it will do and cost, and call the tool again with confirm: true once they agree.'
    );
  const unknown = Object.keys(input).find((name) => !known.includes(name));
  if (unknown !== undefined) return `there is no parameter ${unknown}; there are: ${known.join(', ')}.`;
  const { body = {}, idempotency_key = '' } = input;
  if (typeof idempotency_key !== 'string' || /[^\x20-\x7e]/.test(idempotency_key))
    return 'idempotency_key must be a text of printable ASCII.';
  return typeof body === 'object' && body !== null ? null : 'body must be an object.';
}

function isSpending({ spendsBy }: ApiTool, { body }: Readonly<Record<string, unknown>>): boolean {
  return spendsBy !== null && typeof body === 'object' && body !== null && spendsBy in body;
}

/** The address with its parameters filled in; null if one of the path is missing. */
function urlOf({ path, query }: ApiTool, input: Readonly<Record<string, unknown>>): string | null {
  const parts = path.split('/').map((part) => {
    const name = /^\{(.+)\}$/.exec(part)?.[1];
    if (name === undefined) return part;
    const value = input[name];
    // `..` would be another path.
    const text = typeof value === 'number' ? String(value) : value;
    const isText = typeof text === 'string' && !/^\.{0,2}$/.test(text) && text.isWellFormed();
    return isText ? encodeURIComponent(text) : null;
  });
  if (parts.includes(null)) return null;
  const given = query.filter((name) => input[name] !== undefined && input[name] !== null);
  const search = new URLSearchParams(Object.fromEntries(given.map((name) => [name, String(input[name])])));
  return search.size === 0 ? parts.join('/') : `${parts.join('/')}?${search}`;
}

/** Printable ASCII, as headers want it. */
function idempotencyOf({ isIdempotent }: ApiTool, input: Readonly<Record<string, unknown>>) {
  const { idempotency_key: key } = input;
  return isIdempotent && typeof key === 'string' ? { 'idempotency-key': key } : {};
}

async function bodyOf(
  { body, bodySchema }: ApiTool,
  { body: value }: Readonly<Record<string, unknown>>,
): Promise<Pick<ApiRequest, 'headers' | 'payload'>> {
  if (body === null || value === undefined) return { headers: {} };
  if (body === 'json')
    return { headers: { 'content-type': 'application/json' }, payload: Buffer.from(JSON.stringify(value)) };
  const form = new FormData();
  const fields = bodySchema['properties'] as Readonly<Record<string, Schema>> | undefined;
  for (const [name, field] of Object.entries(value as object))
    if (fields?.[name]?.['format'] === 'binary') form.append(name, new Blob([String(field)]), `${name}.md`);
    else form.append(name, String(field));
  const encoded = new Response(form);
  return {
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
    payload: Buffer.from(await encoded.arrayBuffer()),
  };
}

function shorten(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n… cut after ${MOST_CHARACTERS} of ${text.length} characters`;
}

function failed(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
