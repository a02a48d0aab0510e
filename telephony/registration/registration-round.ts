/**
 * One round of requests to a registrar: a REGISTER with what follows from its answer (digest, 423,
 * redirections, the next server, the removal of bindings of ours that are left from before), or one OPTIONS
 * that keeps the way open (RFC 3261 §10.2, RFC 3263 §4.3). Pure: each answer gives the next step.
 */
import type { DigestChallenge } from '../digest-challenge.ts';
import type { Redirection } from './redirection.ts';
import type { RegisterAnswer } from './register-answer.ts';

export type Purpose = 'register' | 'unregister' | 'ping';

/** How a round ended. */
export type RoundOutcome =
  | {
      readonly is: 'registered';
      readonly grantedSeconds: number;
      /** The interval that was asked for, raised by a 423. */
      readonly askedSeconds: number;
      readonly answer: RegisterAnswer;
    }
  | { readonly is: 'unregistered' }
  /** Any answer to a ping. */
  | { readonly is: 'answered'; readonly answer: RegisterAnswer }
  | RoundFailure
  /** No SIP server is connected to any worker: the registrar was not asked. */
  | { readonly is: 'unsent' };

/** `refused`: the same request will hardly succeed later. */
export interface RoundFailure {
  readonly is: 'failed' | 'refused';
  /** SIP status; null if there was no answer. */
  readonly status: number | null;
  /** For the holder of the account. */
  readonly text: string;
  readonly retryAfterSeconds: number | null;
}

/** A challenge and how often it was answered. */
export interface Answered {
  readonly challenge: DigestChallenge;
  readonly uses: number;
}

/** The state of a round. */
export interface Round {
  readonly purpose: Purpose;
  readonly askedSeconds: number;
  /** Those to answer in the next request: one for each realm. */
  readonly challenges: readonly Answered[];
  /** Second answers to a realm so far. */
  readonly secondAnswers: number;
  readonly isRaised: boolean;
  readonly redirects: number;
  /** Requests so far. */
  readonly requests: number;
  /** The binding that the next request removes; null: the request is about our Contact. */
  readonly removing: string | null;
  /** Further bindings to remove. */
  readonly leftOver: readonly string[];
  /** Set once registered: the rest only tidies up. */
  readonly registered: Extract<RoundOutcome, { is: 'registered' }> | null;
}

/** The next step. */
export type Step =
  /** Send the next request to the same server. */
  | { readonly do: 'send'; readonly round: Round }
  /** The same to the next server; without one the round ends with `failure`. */
  | { readonly do: 'next_server'; readonly round: Round; readonly failure: RoundFailure }
  /** The same to another registrar. */
  | { readonly do: 'redirect'; readonly round: Round; readonly to: Redirection }
  | { readonly do: 'end'; readonly outcome: RoundOutcome };

/** Facts about the account besides the answer. */
export interface RoundFacts {
  /** User part of our Contact. */
  readonly token: string;
  /** Our Contact as it was sent. */
  readonly contact: string | null;
  /** The account has registered before with this password: a 401 is then likely one about the nonce. */
  readonly hasSucceeded: boolean;
}

const MAX_REQUESTS = 12;
const MAX_REDIRECTS = 3;
const MAX_SECOND_ANSWERS = 3;
/** The longest interval that a registrar may demand: a week. */
const MAX_EXPIRES_SECONDS = 604_800;
const MAX_LEFT_OVER = 3;
/** Final answers after which the same request may succeed at another server, or a little later. */
const TEMPORARY = new Set([408, 430, 480, 482, 483, 486, 487, 491, 500, 502, 503, 504, 580, 600]);

/** The beginning of a round. */
export function beginRound(purpose: Purpose, askedSeconds: number): Round {
  return {
    purpose,
    askedSeconds: purpose === 'unregister' ? 0 : askedSeconds,
    challenges: [],
    secondAnswers: 0,
    isRaised: false,
    redirects: 0,
    requests: 0,
    removing: null,
    leftOver: [],
    registered: null,
  };
}

/** There was no answer, or the request could not be sent. */
export function afterSilence(round: Round): Step {
  if (round.registered) return { do: 'end', outcome: round.registered };
  const text = 'No answer from the registrar: check host, port and transport; TLS needs SIP_TLS_CERT here';
  const failure: RoundFailure = { is: 'failed', status: null, text, retryAfterSeconds: null };
  // It keeps the way to this server open, and no other.
  if (round.purpose === 'ping') return { do: 'end', outcome: failure };
  return { do: 'next_server', round: counted(round), failure };
}

/** The step after an answer. */
export function afterAnswer(before: Round, answer: RegisterAnswer, facts: RoundFacts): Step {
  const round = counted(before);
  if (round.purpose === 'ping') return { do: 'end', outcome: { is: 'answered', answer } };
  if (round.requests >= MAX_REQUESTS) return refused(answer, 'The registrar goes on asking for more', round);
  const { status } = answer;
  if (status === 401 || status === 407) return afterChallenge(round, answer, facts);
  if (round.registered) return tidied(round);
  if (status < 300) return afterSuccess(round, answer, facts);
  if (status < 400) return afterRedirect(round, answer);
  if (status === 423) return afterTooBrief(round, answer);
  if (TEMPORARY.has(status)) return { do: 'next_server', round, failure: failureOf(answer, 'failed') };
  return refused(answer, null, round);
}

function counted(round: Round): Round {
  return { ...round, requests: round.requests + 1 };
}

function failureOf(
  { status, text, retryAfterSeconds }: RegisterAnswer,
  is: RoundFailure['is'],
): RoundFailure {
  return { is, status, text: `The registrar answered ${text}`, retryAfterSeconds };
}

function refused(answer: RegisterAnswer, reason: string | null, round: Round): Step {
  if (round.registered) return { do: 'end', outcome: round.registered };
  // Whatever a registrar answers to the end of a registration, it is over.
  if (round.purpose === 'unregister') return { do: 'end', outcome: { is: 'unregistered' } };
  const failure = failureOf(answer, 'refused');
  const text = reason === null ? failure.text : `${reason} (${answer.text})`;
  return { do: 'end', outcome: { ...failure, text } };
}

/**
 * A realm that asks again after an answer has refused the password, unless it says that the nonce was stale.
 * Of an account that has registered before it is believed once without that word: registrars exist that
 * never say it.
 */
function afterChallenge(round: Round, answer: RegisterAnswer, { hasSucceeded }: RoundFacts): Step {
  const [challenge] = answer.challenges;
  if (!challenge)
    return refused(answer, 'The registrar asks for an authentication that is not supported', round);
  const isSame = ({ challenge: { answerIn, realm } }: Answered) =>
    answerIn === challenge.answerIn && realm === challenge.realm;
  const earlier = round.challenges.find(isSame);
  if (earlier) {
    const isExcused =
      challenge.isStale ||
      (hasSucceeded && round.secondAnswers === 0 && earlier.challenge.nonce !== challenge.nonce);
    if (!isExcused || round.secondAnswers >= MAX_SECOND_ANSWERS)
      return refused(answer, 'The registrar does not accept the username and password', round);
  }
  const others = round.challenges.filter((each) => !isSame(each));
  return {
    do: 'send',
    round: {
      ...round,
      challenges: [...others.map(used), { challenge, uses: 1 }],
      secondAnswers: round.secondAnswers + (earlier ? 1 : 0),
    },
  };
}

function used({ challenge, uses }: Answered): Answered {
  return { challenge, uses: uses + 1 };
}

function afterSuccess(round: Round, answer: RegisterAnswer, { token, contact }: RoundFacts): Step {
  if (round.purpose === 'unregister') return { do: 'end', outcome: { is: 'unregistered' } };
  const ours = answer.bindings.filter(({ uri }) => userOf(uri) === token);
  const sent = ours.find(({ uri }) => isSameUri(uri, contact));
  // Registrars and gateways in between rewrite Contacts.
  const own = sent ?? ours[0];
  const grantedSeconds = own?.expiresSeconds ?? answer.expiresSeconds ?? round.askedSeconds;
  if (grantedSeconds === 0)
    return refused(answer, 'The registrar accepted the registration for 0 seconds', round);
  const leftOver = sent ? ours.filter((each) => each !== sent).map(({ uri }) => uri) : [];
  return tidied({
    ...round,
    leftOver: leftOver.slice(0, MAX_LEFT_OVER),
    registered: {
      is: 'registered',
      grantedSeconds: Math.min(grantedSeconds, MAX_EXPIRES_SECONDS),
      askedSeconds: round.askedSeconds,
      answer,
    },
  });
}

/** Removes the next binding of ours that is left from an earlier address: calls must not go there. */
function tidied(round: Round): Step {
  const [removing, ...leftOver] = round.leftOver;
  if (removing !== undefined)
    return { do: 'send', round: { ...round, removing, leftOver, challenges: [], secondAnswers: 0 } };
  return { do: 'end', outcome: round.registered ?? { is: 'unregistered' } };
}

function afterRedirect(round: Round, answer: RegisterAnswer): Step {
  const [to] = answer.redirects;
  if (to === undefined) return refused(answer, 'The registrar redirects to no usable address', round);
  if (round.redirects >= MAX_REDIRECTS) return refused(answer, 'The registrar redirects in a circle', round);
  return { do: 'redirect', round: { ...round, redirects: round.redirects + 1, challenges: [] }, to };
}

/** The next request is a new one to the registrar, which may challenge it again. */
function afterTooBrief(round: Round, answer: RegisterAnswer): Step {
  const wanted = answer.minExpiresSeconds ?? 0;
  if (round.isRaised || wanted <= round.askedSeconds || wanted > MAX_EXPIRES_SECONDS)
    return refused(answer, 'The registrar wants another expiry, and does not say which', round);
  return {
    do: 'send',
    round: { ...round, askedSeconds: wanted, isRaised: true, challenges: [], secondAnswers: 0 },
  };
}

function userOf(uri: string): string {
  return /^sips?:([^@;?]*)@/i.exec(uri)?.[1] ?? '';
}

/** Compares without parameters: registrars add their own. */
function isSameUri(uri: string, contact: string | null): boolean {
  const plain = (text: string) => text.replace(/[;?].*$/s, '').toLowerCase();
  return contact !== null && plain(uri) === plain(contact);
}
