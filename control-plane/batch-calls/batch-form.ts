/** Reads the form of a new batch into the body its schema checks: `recipients` is a CSV file, objects are JSON, everything else is text. */
import fastifyMultipart from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { invalidField, sendBare } from '../problems.ts';
import type { ApiServer } from '../server.ts';
import { readRecipientList } from './recipient-list.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Line of each recipient in its file; null where they came as JSON. */
    recipientLines: readonly number[] | null;
  }
}

const JSON_FIELDS = new Set(['schedule', 'pacing', 'retry', 'opt_out']);
/** More of each than the form has, so that what is too much is still told by its name. */
const FORM_LIMITS = { fileSize: LIMITS.batchUploadBytes, files: 2, fields: 16, parts: 18, fieldSize: LIMITS.batchUploadBytes };

/** Has the routes of this scope take forms beside JSON; `bodyOptional` is theirs, because the scope looks for itself. */
export function acceptForms(scope: ApiServer): void {
  scope.register(fastifyMultipart, { limits: FORM_LIMITS });
  scope.decorateRequest('recipientLines', null);
  scope.addHook('preValidation', readForm);
}

async function readForm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  if (!request.isMultipart()) {
    if (request.body !== undefined) return undefined;
    sendBare(reply, 415);
    return reply;
  }
  const form = new Map<string, Buffer>();
  try {
    for await (const part of request.parts()) {
      // Read in any case: a part that nobody reads holds up the rest.
      form.set(part.fieldname, part.type === 'file' ? await part.toBuffer() : Buffer.from(String(part.value)));
    }
  } catch (error) {
    if (error instanceof Fault || (error instanceof Error && 'code' in error && error.code === 'FST_REQ_FILE_TOO_LARGE')) throw error;
    throw fault('bad_request', { detail: 'Malformed multipart form' }, { cause: error });
  }
  const { recipients, ...fields } = Object.fromEntries(form);
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) body[name] = JSON_FIELDS.has(name) ? jsonOf(name, value) : value.toString('utf8');
  if (recipients !== undefined) {
    const list = readRecipientList(recipients);
    request.recipientLines = list.lines;
    body['recipients'] = list.recipients;
  }
  request.body = body;
  return undefined;
}

function jsonOf(name: string, value: Buffer): unknown {
  try {
    return JSON.parse(value.toString('utf8'));
  } catch {
    throw invalidField([name], 'must be JSON');
  }
}
