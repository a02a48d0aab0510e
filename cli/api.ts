/**
 * Client of the product's public HTTP API for the command line: one key, one address, and errors that say
 * what to do.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { readSecretFiles } from '#config/secret-files.ts';

/** Exit codes, the same for every command (docs/operations.md). */
export const EXIT = { ok: 0, failed: 1, refused: 2, unreachable: 3 } as const;

/** Ends the command with a message for the user and an exit code. */
export class CommandError extends Error {
  readonly exitCode: number;
  /** Reason of the API's refusal (docs/errors.md); null if it gave none. */
  readonly reason: string | null;
  /** HTTP status of the API's refusal; null without one. */
  readonly status: number | null;

  constructor(
    message: string,
    exitCode: number = EXIT.refused,
    reason: string | null = null,
    status: number | null = null,
  ) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.reason = reason;
    this.status = status;
  }
}

/** The product's address, and the key. */
export interface Access {
  readonly url: string;
  readonly key: string;
}

/** A record of the API. */
// biome-ignore lint/suspicious/noExplicitAny: the API defines the schemas of its answers
export type Json = any;

const LIST_PAGE = 100;

/** The API behind one key. */
export class Api {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  get url(): string {
    return this.#access.url;
  }

  get(path: string): Promise<Json> {
    return this.#json('GET', path);
  }

  /** As `get`; null if the API refuses for this reason, such as a record that does not exist. */
  getUnless(reason: string, path: string): Promise<Json> {
    return this.get(path).catch((error: unknown) => {
      if (error instanceof CommandError && error.reason === reason) return null;
      throw error;
    });
  }

  post(path: string, body?: unknown): Promise<Json> {
    return this.#json('POST', path, body);
  }

  put(path: string, body: unknown): Promise<Json> {
    return this.#json('PUT', path, body);
  }

  patch(path: string, body: unknown): Promise<Json> {
    return this.#json('PATCH', path, body);
  }

  /** Every row of a list, page by page. */
  async *list(path: string, name: string): AsyncGenerator<Json> {
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const query = `page_size=${LIST_PAGE}${from}`;
      const page = await this.get(`${path}${path.includes('?') ? '&' : '?'}${query}`);
      yield* page[name];
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** All rows of a list. */
  async all(path: string, name: string): Promise<Json[]> {
    const rows: Json[] = [];
    for await (const row of this.list(path, name)) rows.push(row);
    return rows;
  }

  /** Server-sent events, until the stream ends or breaks. */
  async *events(path: string): AsyncGenerator<{ readonly name: string; readonly data: Json }> {
    const { body } = await this.send('GET', path);
    let unread = '';
    try {
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const events = `${unread}${text}`.split('\n\n');
        unread = events.pop() ?? '';
        for (const event of events) {
          const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(event) ?? [];
          if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
        }
      }
    } catch (error) {
      // A broken connection ends the stream normally; errors of the consumer are not caught here.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Sends a form, for uploads. */
  async form(method: 'POST' | 'PATCH', path: string, form: FormData): Promise<Json> {
    return (await this.send(method, path, { body: form })).json();
  }

  /** Sends a request and returns its successful answer. Throws `CommandError`. */
  async send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = {
      authorization: `Bearer ${this.#access.key}`,
      ...(init.headers as Record<string, string> | undefined),
    };
    const response = await fetch(`${this.url}${path}`, { ...init, method, headers }).catch(
      (error: unknown) => {
        throw unreachable(this.url, error);
      },
    );
    if (!response.ok) throw await refusalOf(response, path);
    return response;
  }

  async #json(method: string, path: string, body?: unknown): Promise<Json> {
    const init =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await this.send(method, path, init);
    if (response.status === 204) return null;
    return response.json().catch(() => {
      throw new CommandError(
        `${this.url} answers, but not like Parley: give the product’s address with --url or PARLEY_URL`,
      );
    });
  }
}

/**
 * Address and key from the options, the environment and DATA_DIR, in this order. Throws `CommandError`
 * without a key.
 */
export function accessOf(
  options: { readonly url?: string; readonly key?: string },
  environment: NodeJS.ProcessEnv,
): Access {
  return {
    url: addressOf(options, environment),
    key: options.key ?? environment['PARLEY_API_KEY'] ?? rootKeyOf(environment) ?? keptKey(environment),
  };
}

/** The product's address without a slash at its end. Throws `CommandError` if it is none. */
export function addressOf(options: { readonly url?: string }, environment: NodeJS.ProcessEnv): string {
  const url = options.url ?? environment['PARLEY_URL'] ?? 'http://127.0.0.1:8080';
  if (!/^https?:\/\//.test(url))
    throw new CommandError(`--url must start with http:// or https://, not ${url}`);
  return url.replace(/(?<!\/)\/+$/, '');
}

/** Throws `CommandError` if the key's file cannot be read. */
function rootKeyOf({ ROOT_API_KEY, ROOT_API_KEY_FILE }: NodeJS.ProcessEnv): string | undefined {
  try {
    return readSecretFiles({ ROOT_API_KEY, ROOT_API_KEY_FILE })['ROOT_API_KEY'];
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

function keptKey(environment: NodeJS.ProcessEnv): string {
  const file = join(resolve(environment['DATA_DIR'] ?? '.data'), 'credentials.json');
  try {
    return z.object({ root_api_key: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).root_api_key;
  } catch {
    throw new CommandError(
      'no API key: pass --key, set PARLEY_API_KEY, or run this in the directory that contains DATA_DIR ' +
        `(looked in ${file})`,
    );
  }
}

/** The error for an address at which nothing answers. */
export function unreachable(url: string, error: unknown): CommandError {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const why = cause?.code ?? cause?.message ?? 'no answer';
  return new CommandError(
    `nothing answers at ${url} (${why}): start the product with \`npm start\`, or give its address with ` +
      '--url or PARLEY_URL',
    EXIT.unreachable,
  );
}

/** The message of a refusal, or the invalid fields (docs/errors.md). */
const problem = z.union([
  z.object({ message: z.string(), reason: z.string().optional() }),
  z.array(z.object({ loc: z.array(z.unknown()), msg: z.string() })),
]);

async function refusalOf(response: Response, path: string): Promise<CommandError> {
  const parsed = problem.safeParse(await response.json().catch(() => null));
  const reason = parsed.success && 'reason' in parsed.data ? parsed.data.reason : null;
  const { status } = response;
  return new CommandError(refusalText(response, path, parsed), EXIT.refused, reason ?? null, status);
}

function refusalText(
  response: Response,
  path: string,
  parsed: z.ZodSafeParseResult<z.output<typeof problem>>,
): string {
  const said = !parsed.success
    ? response.statusText
    : Array.isArray(parsed.data)
      ? parsed.data.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('\n')
      : parsed.data.message;
  if (response.status === 401)
    return `the API refuses this key (${said}): pass another with --key or PARLEY_API_KEY`;
  // "Not found" alone is ambiguous: the id may be misspelt, or the address that of another program.
  if (response.status !== 404) return `${said} (HTTP ${response.status})`;
  const [, session] = /^\/v1\/agent\/sessions\/([^/?]+)(?:\/end)?$/.exec(path) ?? [];
  return session === undefined
    ? `${said}: ${path} (HTTP 404)`
    : `no session ${decodeURIComponent(session)} at ${new URL(response.url).origin} (HTTP 404)`;
}
