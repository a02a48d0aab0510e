/**
 * What went wrong with a request to Twilio, told from whatever its SDK threw, and how a caller is told.
 * Nothing the SDK threw leaves this file: it carries the Authorization header.
 */
import { z } from 'zod';
import { type Fault, fault } from '#config/errors.ts';

/**
 * `refused`: Twilio said no, nothing was done. `busy`: too many requests, nothing was done. `unsent`: it was
 * never reached. `failed`: it answered with a failure of its own (5xx). `silent`: no answer that can be
 * understood; what was asked may have been done.
 */
export type TwilioFailureKind = 'refused' | 'busy' | 'unsent' | 'failed' | 'silent';

/** One failed request. */
export class TwilioFailure extends Error {
  readonly kind: TwilioFailureKind;
  /** HTTP status; 0 without an answer. */
  readonly status: number;

  constructor(kind: TwilioFailureKind, words: string, status = 0) {
    super(words);
    this.name = 'TwilioFailure';
    this.kind = kind;
    this.status = status;
  }
}

const MAX_WORDS = 300;
const UNSENT_CODES = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** `RestException` and `TwilioServiceException` of the SDK: a status that is not a success. */
const answered = z.object({ status: z.int().min(300), message: z.string(), detail: z.string().optional() });
const unanswered = z.object({ code: z.string() });

/** Classifies what the SDK threw. */
export function toTwilioFailure(error: unknown): TwilioFailure {
  if (error instanceof TwilioFailure) return error;
  const answer = answered.safeParse(error).data;
  if (answer)
    return new TwilioFailure(
      kindOfStatus(answer.status),
      cleaned(answer.detail ?? answer.message),
      answer.status,
    );
  const code = unanswered.safeParse(error).data?.code ?? '';
  return new TwilioFailure(UNSENT_CODES.has(code) ? 'unsent' : 'silent', 'no answer');
}

/** What a caller is told: Twilio's own words when it refused (502). */
export function toFault(failure: TwilioFailure): Fault {
  const isRefusal = failure.kind === 'refused' || failure.kind === 'busy';
  return isRefusal
    ? fault('provider_refused', { provider: 'Twilio', detail: failure.message })
    : fault('provider_unreachable', { provider: 'Twilio' });
}

function kindOfStatus(status: number): TwilioFailureKind {
  if (status === 429) return 'busy';
  return status >= 500 ? 'failed' : 'refused';
}

/** Twilio's words go to tenants: one bounded line, without the operator's account or any other Twilio id. */
function cleaned(words: string): string {
  return words
    .replace(/\b[A-Z]{2}[0-9a-f]{32}\b/gi, '…')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_WORDS);
}
