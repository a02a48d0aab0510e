/**
 * A new batch as a form: `recipients` is a CSV file, objects are JSON, everything else is text. Converts it
 * to the body that its schema checks.
 */
import type { FastifyRequest } from 'fastify';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { workInTurn } from '../../platform/limits/request-turns.ts';
import { checkedList, type RecipientList, readRecipientList } from './recipient-list.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The rows of a form's file or of a JSON list; null if there is neither. */
    recipientList: RecipientList | null;
  }
}

const JSON_FIELDS = new Set(['schedule', 'pacing', 'retry', 'opt_out']);

/**
 * Makes the routes of this scope accept forms as well as JSON; sets their `bodyOptional`, because the scope
 * checks for itself.
 */
export function acceptForms(scope: ApiServer, context: Context): void {
  acceptBodies(scope, {
    kinds: ['multipart'],
    json: true,
    mostBytes: LIMITS.batchUploadBytes,
    mostFieldBytes: LIMITS.batchUploadBytes,
  });
  scope.decorateRequest('recipientList', null);
  scope.addHook('preValidation', async (request, reply) => {
    // Checking a long list counts as work of the account even if it is refused; creating the batch takes
    // another turn.
    await workInTurn(context, { request, reply }, () =>
      request.isMultipart() ? readForm(request) : readJson(request),
    );
  });
}

/** A long JSON list is checked in parts, yielding to other work; the schema refuses everything else. */
async function readJson(request: FastifyRequest): Promise<void> {
  const { body } = request;
  if (typeof body !== 'object' || body === null || !('recipients' in body) || !Array.isArray(body.recipients))
    return;
  const { recipients } = body;
  if (recipients.length > LIMITS.batchRows)
    throw invalidField(['recipients'], `at most ${LIMITS.batchRows} rows: split them into several batches`);
  if (recipients.length === 0) return;
  const list = await checkedList(recipients);
  request.recipientList = list;
  request.body = { ...body, recipients: list.rows.slice(0, 1).map(({ recipient }) => recipient) };
}

async function readForm(request: FastifyRequest): Promise<void> {
  const { recipients, ...fields } = request.body as Record<string, unknown>;
  const body = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      JSON_FIELDS.has(name) ? jsonOf(name, value) : textOf(value),
    ]),
  );
  request.body = body;
  if (recipients === undefined) return;
  if (Array.isArray(recipients))
    throw invalidField(['recipients'], 'there is more than one list: send them as one file');
  const list = await readRecipientList(Buffer.from(recipients as string | Uint8Array));
  request.recipientList = list;
  // All rows are already checked: one represents the list.
  body['recipients'] = list.rows.slice(0, 1).map(({ recipient }) => recipient);
}

/** A part declared as JSON is already parsed. */
function jsonOf(name: string, value: unknown): unknown {
  const text = textOf(value);
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    throw invalidField([name], 'must be JSON');
  }
}

/** A part may also be sent as a file. A repeated part becomes a list, which the schema refuses. */
function textOf(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value;
}
