/**
 * Parses the multipart form of a knowledge upload into a body for the route's schema. Problems of the form or
 * file itself are refused here with 400: too large, not UTF-8 plain text, unreadable form.
 */
import fastifyMultipart, { type Multipart } from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { sendBare } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { UploadedText } from './knowledge-record.ts';

/** Allowance for the form fields around the file. */
const FORM_BYTES = 64 * 1024;

/** Higher than any of our forms needs, so that surplus fields are reported by name. */
const FORM_LIMITS = { fileSize: LIMITS.uploadBytes, files: 4, fields: 16, parts: 20, fieldSize: 16 * 1024 };

/** Makes the routes of this scope accept multipart bodies only; others get a 415 without a body. */
export function acceptFormsOnly(scope: ApiServer): void {
  scope.removeAllContentTypeParsers();
  scope.register(fastifyMultipart, { limits: FORM_LIMITS });
  scope.addHook('preValidation', readForm);
}

async function readForm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  if (!request.isMultipart()) {
    sendBare(reply, 415);
    return reply;
  }
  if (Number(request.headers['content-length'] ?? 0) > LIMITS.uploadBytes + FORM_BYTES)
    throw fault('upload_too_large');
  const form = new Map<string, unknown>();
  try {
    for await (const part of request.parts()) {
      // Every part must be read, because an unread part blocks the next ones. A repeated field becomes an
      // array, which the schema rejects.
      const value = await readPart(part);
      form.set(part.fieldname, form.has(part.fieldname) ? [] : value);
    }
  } catch (error) {
    throw isTooLarge(error)
      ? fault('upload_too_large')
      : fault('bad_request', { detail: 'Malformed multipart form' }, { cause: error });
  }
  // Files are validated after the whole form has been read, because a truncated form must be reported as
  // malformed whatever its file.
  request.body = Object.fromEntries(
    [...form].map(([name, value]) => [name, value instanceof UploadedFile ? textOf(value) : value]),
  );
  return undefined;
}

class UploadedFile {
  readonly name: string;
  readonly bytes: Buffer;

  constructor(name: string, bytes: Buffer) {
    this.name = name;
    this.bytes = bytes;
  }
}

async function readPart(part: Multipart): Promise<unknown> {
  return part.type === 'file' ? new UploadedFile(part.filename ?? '', await part.toBuffer()) : part.value;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'FST_REQ_FILE_TOO_LARGE';
}

/**
 * The extension must be .md or .txt, or absent. The content must be UTF-8 without control characters, and not
 * blank.
 */
function textOf({ name, bytes }: UploadedFile): UploadedText {
  const ending = /\.([^.]*)$/.exec(name)?.[1]?.toLowerCase();
  if (ending !== undefined && ending !== 'md' && ending !== 'txt') throw fault('upload_not_text');
  let content: string;
  try {
    content = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw fault('upload_not_text', {}, { cause: error });
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what plain text does not have
  if (content.trim() === '' || /[\x00-\x08\x0b\x0e-\x1f\x7f]/.test(content)) throw fault('upload_not_text');
  return { file_name: fileName(name), content };
}

function fileName(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name is shown
  const shown = name.replace(/[\x00-\x1f\x7f]+/g, ' ').trim();
  return shown === '' ? 'source.txt' : shown.slice(-FILE_NAME_CHARS).toWellFormed();
}

/** The limit of most file systems; the end is kept for its extension. */
const FILE_NAME_CHARS = 255;
