/** Bodies that need not be JSON: MessagePack, forms and multipart forms, all as the plain object a route's schema checks (supplement 4.9, 4.11, 4.12). */
import fastifyMultipart, { type Multipart } from '@fastify/multipart';
import { Decoder } from '@msgpack/msgpack';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { isReasonableMsgpack } from './msgpack-shape.ts';
import { sendBare } from './problems.ts';
import type { ApiServer } from './server.ts';

/** Kinds of body a scope may take besides JSON, which the server itself parses. */
type BodyKind = 'msgpack' | 'multipart' | 'urlencoded';

/** What a scope takes. */
interface BodyRules {
  readonly kinds: readonly BodyKind[];
  /** Without it JSON is a bare 415. */
  readonly json: boolean;
  readonly mostBytes: number;
  /** Of a form's field that is no file. */
  readonly mostFieldBytes?: number;
  /** A missing body reaches the route's schema instead of being a bare 415. */
  readonly mayMiss?: boolean;
}

const FIELD_BYTES = 64 * 1_024;
/** Fields and files of one form. */
const FORM_FIELDS = 64;
const FORM_FILES = 24;
const MOST_PARTS = FORM_FIELDS + FORM_FILES;
/** Of a form that is one text: larger files go into multipart forms. */
const URLENCODED_BYTES = 2 * 1_048_576;

/** Makes a scope take these kinds of body up to a size. */
export function acceptBodies(scope: ApiServer, { kinds, json, mostBytes, mostFieldBytes = FIELD_BYTES, mayMiss = false }: BodyRules): void {
  if (!json) scope.removeContentTypeParser('application/json');
  if (kinds.includes('msgpack')) {
    const types = ['application/msgpack', 'application/x-msgpack', 'application/vnd.msgpack'];
    scope.addContentTypeParser(types, { parseAs: 'buffer', bodyLimit: mostBytes }, (_request, body: Buffer, done) => {
      if (body.length === 0) return done(null, undefined);
      try {
        done(null, readMsgpack(body));
      } catch (error) {
        done(error as Error);
      }
    });
  }
  if (kinds.includes('urlencoded')) {
    const bodyLimit = Math.min(mostBytes, URLENCODED_BYTES);
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit }, (_request, body, done) => {
      // A route's own limit stands above that of the parser.
      if (Buffer.byteLength(body) > bodyLimit) return done(fault('too_large'));
      try {
        done(null, body.length === 0 ? undefined : readUrlencoded(String(body)));
      } catch (error) {
        done(error as Error);
      }
    });
  }
  if (kinds.includes('multipart')) {
    scope.register(fastifyMultipart, {
      limits: { fileSize: mostBytes, files: FORM_FILES, fields: FORM_FIELDS, parts: MOST_PARTS, fieldSize: mostFieldBytes },
    });
    // Routes of such a scope say `bodyOptional`: their body is not there before this has read it.
    scope.addHook('preValidation', async (request, reply) => {
      if (request.isMultipart()) request.body = await readForm(request, mostBytes);
      if (mayMiss || (request.body !== undefined && request.body !== null)) return undefined;
      if (request.method === 'GET' || request.method === 'DELETE') return undefined;
      sendBare(reply, 415);
      return reply;
    });
  }
}

/** Reads `a=1&b=2`. Throws `too_large` for more fields than a form may have. */
export function readUrlencoded(text: string): Record<string, unknown> {
  if (text.split('&', MOST_PARTS + 1).length > MOST_PARTS) throw fault('too_large');
  return byName(new URLSearchParams(text));
}

const decoder = new Decoder();

/** Reads one MessagePack value. Throws `malformed_body`. */
export function readMsgpack(bytes: Uint8Array): unknown {
  if (!isReasonableMsgpack(bytes)) throw fault('malformed_body', { kind: 'MessagePack' });
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw fault('malformed_body', { kind: 'MessagePack' }, { cause: error });
  }
}

/** Bytes as they come in a form or in MessagePack. */
export const bytes = z
  .custom<Uint8Array>((value) => value instanceof Uint8Array && value.length > 0, 'must be one file that is not empty')
  .meta({ type: 'string', format: 'binary' });

async function readForm(request: FastifyRequest, mostBytes: number): Promise<Record<string, unknown>> {
  const form: [string, unknown][] = [];
  let size = 0;
  try {
    for await (const part of request.parts()) {
      const value = await readPart(part);
      if (value instanceof Buffer) size += value.length;
      if (size > mostBytes) throw fault('too_large');
      form.push([part.fieldname, value]);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    throw code === 'FST_REQ_FILE_TOO_LARGE' || code === 'too_large'
      ? fault('too_large')
      : fault('malformed_body', { kind: 'multipart form' }, { cause: error });
  }
  return byName(form);
}

async function readPart(part: Multipart): Promise<unknown> {
  if (part.type === 'file') return part.toBuffer();
  // A field is cut off at its limit, where a file is refused.
  if (part.valueTruncated) throw fault('too_large');
  return part.value;
}

/** The fields of a form as an object; a repeated name becomes a list. */
function byName(fields: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const form = new Map<string, unknown[]>();
  for (const [name, value] of fields) {
    const values = form.get(name);
    if (values) values.push(value);
    else form.set(name, [value]);
  }
  return Object.fromEntries([...form].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}
