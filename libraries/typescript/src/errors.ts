/** Errors of the library: what the API refused, by status, and requests without an answer. */
import type { ErrorReason } from './generated/reasons.ts';

/** Any error of this library. */
export class ParleyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No answer arrived: whether the request was carried out is unknown. */
export class ApiConnectionError extends ParleyError {}

/** No answer arrived in time. */
export class ApiTimeoutError extends ApiConnectionError {}

/** The API's explanation of a refused request. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly reason: ErrorReason | null;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly body: unknown;
}

/** The API answered with an error. docs/errors.md of Parley has every message and reason. */
export class ApiError extends ParleyError {
  readonly status: number;
  /** Why, where the status alone does not say it. Later versions of the API may have further reasons. */
  readonly reason: ErrorReason | null;
  /** Names the request in the server's log. */
  readonly requestId: string | null;
  /** When to send it again; null if the API does not say. */
  readonly retryAfterMs: number | null;
  /** The parsed body, or its text if it is not JSON. */
  readonly body: unknown;

  constructor({ status, message, reason, requestId, retryAfterMs, body }: Refusal) {
    super(`${status}: ${message}`);
    this.status = status;
    this.reason = reason;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }
}

/** 400: the request contradicts itself, or refers to something unknown. */
export class BadRequestError extends ApiError {}

/** 401: the key is missing, wrong or expired. */
export class AuthenticationError extends ApiError {}

/** 402: the wallet is empty; nothing was charged. */
export class OutOfCreditError extends ApiError {}

/** 403: the account may not do this; waiting does not help. */
export class ForbiddenError extends ApiError {}

/** 404. */
export class NotFoundError extends ApiError {}

/** 409: the state of the thing does not allow it. */
export class ConflictError extends ApiError {}

/** 429: a limit that waiting helps against. */
export class TooManyRequestsError extends ApiError {}

/** 500 and above: something in or behind the API failed. */
export class ServerError extends ApiError {}

/** A field that was refused. */
export interface FieldProblem {
  readonly type: string;
  /** Where it is, from `body`, `query`, `path` or `header`. */
  readonly loc: readonly string[];
  readonly msg: string;
  readonly ctx: Readonly<Record<string, unknown>>;
}

/** 422: fields are invalid, or a call is not allowed, which `reason` explains. */
export class InvalidRequestError extends ApiError {
  /** The invalid fields; empty if there is a reason. */
  readonly fields: readonly FieldProblem[];

  constructor(refusal: Refusal) {
    super(refusal);
    this.fields = Array.isArray(refusal.body) ? refusal.body : [];
  }
}

/** A webhook's signature is missing, wrong or too old. */
export class WebhookError extends ParleyError {}

const CLASSES: Readonly<Record<number, new (refusal: Refusal) => ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: OutOfCreditError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  422: InvalidRequestError,
  429: TooManyRequestsError,
};

/** The error of an answer that is no success. Reads its body; `nowMs` is the wall time. */
export async function errorOf(response: Response, nowMs: number): Promise<ApiError> {
  const text = await response.text();
  const body = parsed(text);
  const { status, headers } = response;
  const said = typeof body === 'object' && body !== null ? (body as Partial<Refusal>) : {};
  const refusal: Refusal = {
    status,
    message: said.message ?? firstField(body) ?? `the API answered ${status}`,
    reason: said.reason ?? null,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
    body,
  };
  const Class = CLASSES[status] ?? (status >= 500 ? ServerError : ApiError);
  return new Class(refusal);
}

/** `Retry-After` in milliseconds from now: seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

function firstField(body: unknown): string | null {
  if (!Array.isArray(body)) return null;
  const [first] = body as Partial<FieldProblem>[];
  return first ? `${first.loc?.join('.')}: ${first.msg}` : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
