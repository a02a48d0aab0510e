/**
 * Bodies that need not be JSON: MessagePack, forms and multipart forms, all as the plain object a route's
 * schema checks (4.11, 4.12).
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import fastifyMultipart, { type Multipart } from '@fastify/multipart';
import { decodeAsync } from '@msgpack/msgpack';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { inTurns } from '#base/in-turns.ts';
import { fault } from '#config/errors.ts';
import { byName, FORM_FIELDS, FORM_FILES, MOST_PARTS } from './form-fields.ts';
import { msgpackParts } from './msgpack-shape.ts';
import { sendBare } from './problems.ts';
import type { ApiServer } from './server.ts';
import { readingUrlencoded } from './urlencoded.ts';

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
/** Of a form that is one text: larger files go into multipart forms. */
const URLENCODED_BYTES = 2 * 1_048_576;

/** Makes a scope take these kinds of body up to a size. */
export function acceptBodies(
  scope: ApiServer,
  { kinds, json, mostBytes, mostFieldBytes = FIELD_BYTES, mayMiss = false }: BodyRules,
): void {
  if (!json) scope.removeContentTypeParser('application/json');
  if (kinds.includes('msgpack')) {
    const types = ['application/msgpack', 'application/x-msgpack', 'application/vnd.msgpack'];
    scope.addContentTypeParser(
      types,
      { parseAs: 'buffer', bodyLimit: mostBytes },
      async (_request: FastifyRequest, body: Buffer) => (body.length === 0 ? undefined : readMsgpack(body)),
    );
  }
  if (kinds.includes('urlencoded')) {
    const bodyLimit = Math.min(mostBytes, URLENCODED_BYTES);
    const type = 'application/x-www-form-urlencoded';
    scope.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit },
      async (_request: FastifyRequest, body: Buffer) => {
        // A route's own limit stands above that of the parser.
        if (body.length > bodyLimit) throw fault('too_large');
        return body.length === 0 ? undefined : inTurns(readingUrlencoded(body));
      },
    );
  }
  if (kinds.includes('multipart')) {
    scope.register(fastifyMultipart, {
      limits: {
        fileSize: mostBytes,
        files: FORM_FILES,
        fields: FORM_FIELDS,
        parts: MOST_PARTS,
        fieldSize: mostFieldBytes,
      },
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

/** Reads one MessagePack value, in turns with everything else. Rejects with `malformed_body`. */
export async function readMsgpack(bytes: Uint8Array): Promise<unknown> {
  try {
    // A decoder for each value: one that failed keeps what it had begun, and puts the next value into it.
    return await decodeAsync(soundParts(bytes));
  } catch (error) {
    throw fault('malformed_body', { kind: 'MessagePack' }, { cause: error });
  }
}

async function* soundParts(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const parts = msgpackParts(bytes);
  let part = parts.next();
  while (!part.done) {
    yield part.value;
    part = parts.next();
    if (!part.done) await nextRound();
  }
  if (!part.value) throw new Error('not one whole value, or more than a request has');
}

/** Bytes as they come in a form or in MessagePack. */
export const bytes = z
  .custom<Uint8Array>(
    (value) => value instanceof Uint8Array && value.length > 0,
    'must be one file that is not empty',
  )
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
