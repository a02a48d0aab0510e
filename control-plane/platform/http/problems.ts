/**
 * Error responses of the API: the error body, the 422 list, and the two refusals without a body. Request
 * contents are never echoed: messages and ctx contain safe fields only.
 */
import { Readable } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Fault, fault } from '#config/errors.ts';
import { isDatabaseAway } from '../store/database-away.ts';

/** Entries written per iteration of the event loop. */
const CHUNK_ENTRIES = 500;

/** Types of bodies, as a 415 names them. */
const BODY_TYPES = [
  'application/json',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
  'application/msgpack',
];

/** Body of every JSON error except 422. */
export const errorBody = z.object({
  status: z.number().int(),
  message: z.string(),
  reason: z.string().nullable(),
});

/** One entry of a 422 answer. */
export const validationEntry = z.object({
  type: z.string(),
  loc: z.array(z.string()),
  msg: z.string(),
  ctx: z.record(z.string(), z.unknown()),
  in: z.enum(['body', 'query', 'path', 'header']),
});
export type ValidationEntry = z.infer<typeof validationEntry>;

/** Thrown for a request with invalid fields; answered with 422 and the list of entries. */
export class InvalidRequest extends Error {
  readonly entries: readonly ValidationEntry[];

  constructor(entries: readonly ValidationEntry[]) {
    super('invalid request');
    this.name = 'InvalidRequest';
    this.entries = entries;
  }
}

/**
 * Reports a body field that the schema cannot check, such as an unknown tool id; `text` must not repeat the
 * value.
 */
export function invalidField(loc: readonly (string | number)[], text: string): InvalidRequest {
  return new InvalidRequest([valueError(['body', ...loc.map(String)], text, 'body')]);
}

/**
 * Converts zod issues into entries; `place` is the origin of the parsed value. An unknown query field is
 * answered with `known`, the fields there are.
 */
export function invalidFrom(
  error: z.core.$ZodError,
  place: ValidationEntry['in'],
  known: readonly string[] = [],
): InvalidRequest {
  const entries = error.issues.flatMap((issue) => entriesOf(issue, [place], place));
  if (place !== 'query' || known.length === 0) return new InvalidRequest(entries);
  return new InvalidRequest(
    entries.map((entry) =>
      entry.type === 'extra_forbidden'
        ? { ...entry, msg: `${entry.msg}; known are ${known.join(', ')}` }
        : entry,
    ),
  );
}

/** The first problem of a request, in one line. */
export function firstProblem({ entries: [first] }: InvalidRequest): string {
  return `${first?.loc.slice(1).join('.') || first?.loc[0] || 'body'}: ${first?.msg ?? 'is not acceptable'}`;
}

/** Converts any error to a fault; unknown errors become `internal`. */
export function faultOf(error: Error): Fault {
  return error instanceof Fault ? error : knownFault(error, 'code' in error ? error.code : undefined);
}

/** Sends the error response for anything a handler or hook threw. */
export function sendProblem(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof InvalidRequest) {
    reply.code(422);
    if (error.entries.length <= CHUNK_ENTRIES) reply.send(error.entries);
    else reply.type('application/json; charset=utf-8').send(Readable.from(jsonInTurns(error.entries)));
    return;
  }
  const code = 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    sendBare(reply, 415);
    return;
  }
  const known = faultOf(error);
  if (isUnexpected(known)) request.log.error({ err: error }, 'request failed');
  reply.code(known.status).headers(retryAfter(known)).send(errorBodyOf(known));
}

/** True for a fault of this program, which is logged with its cause. */
export function isUnexpected({ status }: Fault): boolean {
  return status >= 500 && status !== 503;
}

/** The body of a fault's answer. */
export function errorBodyOf({ status, message, reason }: Fault): z.output<typeof errorBody> {
  return { status, message, reason };
}

/** Serialising errors for a long list takes time: yields to the event loop between chunks. */
async function* jsonInTurns(entries: readonly ValidationEntry[]): AsyncGenerator<string> {
  for (let first = 0; first < entries.length; first += CHUNK_ENTRIES) {
    const chunk = JSON.stringify(entries.slice(first, first + CHUNK_ENTRIES)).slice(1, -1);
    yield `${first === 0 ? '[' : ','}${chunk}`;
    await nextRound();
  }
  yield ']';
}

/** The `Retry-After` header, if the fault has one. */
export function retryAfter({ retryAfterSeconds: seconds }: Fault): Record<string, string> {
  return seconds === null ? {} : { 'Retry-After': String(seconds) };
}

/**
 * Sends a refusal without a body: 401 for a missing or malformed Authorization, 415 for a missing body or a
 * wrong Content-Type. A header says what is wanted (RFC 9110, sections 11.6.1 and 15.5.16).
 */
export function sendBare(reply: FastifyReply, status: 401 | 415): void {
  if (status === 401) reply.header('WWW-Authenticate', 'Bearer');
  else reply.header('Accept', acceptedTypes(reply).join(', '));
  reply.code(status).removeHeader('content-type').send();
}

/** Body types that the routes beside this one accept. */
function acceptedTypes({ server }: FastifyReply): string[] {
  return BODY_TYPES.filter((type) => server.hasContentTypeParser(type));
}

function knownFault(error: Error, code: unknown): Fault {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' || code === 'FST_REQ_FILE_TOO_LARGE') return fault('too_large');
  if (error instanceof SyntaxError) return fault('malformed_json');
  if (isDatabaseAway(error)) return fault('database_unavailable');
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number' && status >= 400 && status < 500)
    return fault('bad_request', { detail: 'Bad request' });
  return fault('internal');
}

function valueError(loc: readonly string[], text: string, place: ValidationEntry['in']): ValidationEntry {
  return { type: 'value_error', loc: [...loc], msg: `Value error, ${text}`, ctx: { error: text }, in: place };
}

function entriesOf(
  issue: z.core.$ZodIssue,
  before: readonly string[],
  place: ValidationEntry['in'],
): ValidationEntry[] {
  const loc = [...before, ...issue.path.map((part) => safeKey(String(part)))];
  const entry = (type: string, msg: string, ctx: Record<string, unknown> = {}): ValidationEntry[] => [
    { type, loc, msg, ctx, in: place },
  ];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        type: 'extra_forbidden',
        loc: [...loc, safeKey(key)],
        msg: 'Extra inputs are not permitted',
        ctx: {},
        in: place,
      }));
    case 'invalid_type':
      return issue.message.endsWith('received undefined')
        ? entry('missing', 'Field required')
        : entry(`${issue.expected}_type`, `Input should be a valid ${issue.expected}`, {
            expected: issue.expected,
          });
    case 'too_big':
      return entry(`too_big_${issue.origin}`, `Input is above the maximum of ${String(issue.maximum)}`, {
        maximum: Number(issue.maximum),
      });
    case 'too_small':
      return entry(`too_small_${issue.origin}`, `Input is below the minimum of ${String(issue.minimum)}`, {
        minimum: Number(issue.minimum),
      });
    case 'invalid_value':
      return entry('enum', `Input should be one of ${issue.values.map(String).join(', ')}`, {
        expected: issue.values.map(String),
      });
    case 'invalid_format':
      return entry('format', `Input is not of the required format (${issue.format})`, {
        format: issue.format,
      });
    case 'invalid_key':
      return entry('invalid_key', 'Name is not allowed here');
    case 'invalid_union':
      return unionEntries(issue, loc, place) ?? entry('union', 'Input matches none of the allowed forms');
    case 'custom':
      return [valueError(loc, issue.message, place)];
    default:
      return entry(issue.code, 'Input is not valid');
  }
}

/** If a branch of the union matched at its root and failed deeper, its issues are the helpful ones. */
function unionEntries(
  issue: z.core.$ZodIssueInvalidUnion,
  loc: readonly string[],
  place: ValidationEntry['in'],
): ValidationEntry[] | null {
  const deep = issue.errors.find(
    (issues) =>
      issues.length > 0 && issues.every((inner) => inner.path.length > 0 || inner.code !== 'invalid_type'),
  );
  return deep ? deep.flatMap((inner) => entriesOf(inner, loc, place)) : null;
}

/** Keys come from the request too: a key is repeated only if it looks like a name. */
export function safeKey(key: string): string {
  return /^[\w.-]{1,64}$/.test(key) ? key : '?';
}
