/** The only access to the API: sends the key, parses responses, throws `ApiError` for errors. */
import { storedKey } from './credentials.ts';

/** A field rejected by the API. */
export interface FieldProblem {
  readonly loc: readonly string[];
  readonly msg: string;
}

/** An error response; status 0 means no response. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string | null;
  readonly fields: readonly FieldProblem[];

  constructor(
    status: number,
    message: string,
    details: { reason?: string | null; fields?: readonly FieldProblem[] } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = details.reason ?? null;
    this.fields = details.fields ?? [];
  }
}

/** True if the key itself was rejected: wrong, revoked or expired. */
export function isKeyRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Values of a query string; undefined and empty values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Sends a request and returns the raw response. Throws `ApiError`. */
export async function request(
  method: Method,
  path: string,
  body?: unknown,
  { signal, headers }: RequestOptions = {},
): Promise<Response> {
  const isForm = body instanceof FormData;
  const init: RequestInit = {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${storedKey() ?? ''}`,
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  };
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(
      0,
      'The server cannot be reached. Check the connection, or whether Parley is running.',
    );
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Sends a request and returns its JSON; undefined if the response has no body. */
export async function call<Answer = void>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await request(method, path, body, { signal });
  return (
    response.status === 204 || response.headers.get('content-length') === '0'
      ? undefined
      : await response.json()
  ) as Answer;
}

/** A path with its query string. */
export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

async function refusal(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  if (Array.isArray(body)) {
    const fields = body as FieldProblem[];
    return new ApiError(response.status, fields.map(describe).join('; '), { fields });
  }
  const { message, reason } = (body ?? {}) as { message?: string; reason?: string | null };
  return new ApiError(response.status, message ?? plain(response.status), { reason: reason ?? null });
}

function describe({ loc, msg }: FieldProblem): string {
  const path = loc.filter((part) => part !== 'body').join('.');
  return path === '' ? msg : `${path}: ${msg}`;
}

function plain(status: number): string {
  if (status === 401) return 'This key is not valid, or no longer. Sign in again.';
  return `The server answered ${status}`;
}
