/**
 * Non-JSON bodies: MessagePack, URL-encoded and multipart forms, each converted into the plain object that
 * the route's schema validates.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import fastifyMultipart, { type Multipart } from '@fastify/multipart';
import { decodeAsync } from '@msgpack/msgpack';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { runInTurns } from '#base/run-steps.ts';
import { fault } from '#config/errors.ts';
import { byName, FORM_FIELDS, FORM_FILES, MAX_PARTS } from './form-fields.ts';
import { msgpackParts } from './msgpack-shape.ts';
import { sendBare } from './problems.ts';
import type { ApiServer } from './server.ts';
import { readingUrlencoded } from './urlencoded.ts';

/** Body types a scope may accept besides JSON, which the server itself parses. */
type BodyKind = 'msgpack' | 'multipart' | 'urlencoded';

/** Bodies a scope accepts. */
interface BodyRules {
  readonly kinds: readonly BodyKind[];
  /** If false, JSON is refused with a bare 415. */
  readonly json: boolean;
  readonly mostBytes: number;
  /** Limit for a form field that is not a file. */
  readonly mostFieldBytes?: number;
  /** Passes a missing body to the route's schema instead of refusing it with a bare 415. */
  readonly mayMiss?: boolean;
}

const FIELD_BYTES = 64 * 1_024;
/** Limit for a URL-encoded form; larger files belong in multipart forms. */
const URLENCODED_BYTES = 2 * 1_048_576;

/** Makes a scope accept these body types up to a size limit. */
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
        // A route's own body limit overrides the parser's.
        if (body.length > bodyLimit) throw fault('too_large');
        return body.length === 0 ? undefined : runInTurns(readingUrlencoded(body));
      },
    );
  }
  if (kinds.includes('multipart')) {
    scope.register(fastifyMultipart, {
      limits: {
        fileSize: mostBytes,
        files: FORM_FILES,
        fields: FORM_FIELDS,
        parts: MAX_PARTS,
        fieldSize: mostFieldBytes,
      },
    });
    // Routes in such a scope set `bodyOptional`: there is no body until this hook has read it.
    scope.addHook('preValidation', async (request, reply) => {
      if (request.isMultipart()) request.body = await readForm(request, mostBytes);
      if (mayMiss || (request.body !== undefined && request.body !== null)) return undefined;
      if (request.method === 'GET' || request.method === 'DELETE') return undefined;
      sendBare(reply, 415);
      return reply;
    });
  }
}

/** Decodes one MessagePack value, yielding to the event loop. Rejects with `malformed_body`. */
export async function readMsgpack(bytes: Uint8Array): Promise<unknown> {
  try {
    // Uses a new decoder per value: after a failure a decoder would add the next value to its partial state.
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
  if (!part.value) throw new Error('not one complete value, or above the limits of a request');
}

/** Bytes of a form file or a MessagePack value. */
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
  // An oversized field is truncated; an oversized file is refused.
  if (part.valueTruncated) throw fault('too_large');
  return part.value;
}
