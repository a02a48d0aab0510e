/**
 * Classifies the errors of Twilio's SDK and maps them to errors for our callers. The SDK's own error never
 * leaves this file: it contains the Authorization header.
 */
import { z } from 'zod';
import { type Fault, fault } from '#config/errors.ts';

/**
 * `refused`: Twilio refused, nothing was done. `busy`: too many requests, nothing was done. `unsent`: Twilio
 * was not reached. `failed`: Twilio answered with a 5xx. `silent`: no intelligible answer; the request may
 * have been carried out.
 */
export type TwilioFailureKind = 'refused' | 'busy' | 'unsent' | 'failed' | 'silent';

/** One failed request. */
export class TwilioFailure extends Error {
  readonly kind: TwilioFailureKind;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;

  constructor(kind: TwilioFailureKind, words: string, status = 0) {
    super(words);
    this.name = 'TwilioFailure';
    this.kind = kind;
    this.status = status;
  }
}

const MAX_MESSAGE_CHARS = 300;
const UNSENT_CODES = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** `RestException` and `TwilioServiceException` of the SDK: an unsuccessful status. */
const answered = z.object({ status: z.int().min(300), message: z.string(), detail: z.string().optional() });
const unanswered = z.object({ code: z.string() });

/** Classifies an error of the SDK. */
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

/** Maps a failure to an error of ours, with Twilio's own message if it refused (502). */
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

/** Tenants see Twilio's message: one bounded line, without the operator's account or any other Twilio id. */
function cleaned(words: string): string {
  return words
    .replace(/\b[A-Z]{2}[0-9a-f]{32}\b/gi, '…')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE_CHARS);
}
