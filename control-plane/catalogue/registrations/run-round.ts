/**
 * Runs one round of a registration: has a worker send each request, and gives the answers to the machine.
 * The password is opened here and leaves this process only as a digest.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { EgressRefused } from '#base/egress.ts';
import { Fault } from '#config/errors.ts';
import type { SipResponse } from '#protocol/sip-request.ts';
import { readRegisterAnswer } from '#telephony/registration/register-answer.ts';
import type { RegistrarHop } from '#telephony/registration/registrar-hops.ts';
import { type RegistrarAccount, writeRequest } from '#telephony/registration/registration-request.ts';
import {
  afterAnswer,
  afterSilence,
  beginRound,
  type Purpose,
  type Round,
  type RoundOutcome,
  type Step,
} from '#telephony/registration/registration-round.ts';
import type { SentBy } from '#telephony/registration/registration-state.ts';
import type { Context } from '../../platform/context.ts';
import type { SipRegistrationDocument } from '../../platform/store/models/sip-registration-model.ts';

/** Effects of a round. */
export interface RoundDeps {
  readonly context: Pick<Context, 'dispatch' | 'secretBox'>;
  /** The servers behind `host` or `host:port`. Throws `EgressRefused`. */
  hopsOf(host: string, transport: SipRegistrationDocument['transport']): Promise<readonly RegistrarHop[]>;
  /**
   * Keeps the lease and returns the CSeq of the next request; null: the lease is lost, and the round over.
   */
  nextCseq(): Promise<number | null>;
}

/** How a round ended, and through what. Null: another process has the registration now. */
export type RanRound = { readonly outcome: RoundOutcome; readonly sent: SentBy | null } | null;

/** The servers of the round, and the one that is being asked. */
interface Course {
  hops: readonly RegistrarHop[];
  index: number;
  /** Request-URI after a redirection. */
  uri: string | null;
}

/** Signalling answers so itself if the peer is silent or cannot be reached; no peer's words are in it. */
const OWN_STATUSES = new Set([408, 503]);

/** Runs a round; rejects only if the store fails. */
export async function runRound(
  deps: RoundDeps,
  registration: SipRegistrationDocument,
  purpose: Purpose,
): Promise<RanRound> {
  try {
    return await run(deps, registration, purpose);
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    const is = error.reason === 'unresolvable' ? 'failed' : 'refused';
    return { outcome: { is, status: null, text: error.message, retryAfterSeconds: null }, sent: null };
  }
}

async function run(
  deps: RoundDeps,
  registration: SipRegistrationDocument,
  purpose: Purpose,
): Promise<RanRound> {
  const { state, registrar, outbound_proxy, transport, expires_seconds } = registration;
  const course: Course = {
    hops: stickyFirst(await deps.hopsOf(outbound_proxy ?? registrar, transport), state.hop),
    index: 0,
    uri: null,
  };
  const facts = { token: registration.token, hasSucceeded: state.hasSucceeded };
  let round = beginRound(purpose, Math.max(expires_seconds, state.raisedSeconds ?? 0));
  let sent: SentBy | null = null;
  for (;;) {
    const hop = course.hops[course.index];
    if (!hop)
      return {
        outcome: {
          is: 'failed',
          status: null,
          text: 'The registrar has no address',
          retryAfterSeconds: null,
        },
        sent,
      };
    const cseq = await deps.nextCseq();
    if (cseq === null) return null;
    const response = await send(deps, { registration, round, hop, uri: course.uri, cseq });
    if (response === null) return { outcome: { is: 'unsent' }, sent };
    sent = sentBy(course, { hop, response, round, before: sent });
    const step = isSilence(response)
      ? afterSilence(round)
      : afterAnswer(round, readRegisterAnswer({ ...response, sourceAddress: response.source_address }), {
          ...facts,
          contact: response.contact,
        });
    const next = await follow(deps, course, step);
    if ('outcome' in next) return { outcome: next.outcome, sent };
    round = next.round;
  }
}

/** The server that has accepted the account first: by chance DNS puts another one there each time. */
function stickyFirst(hops: readonly RegistrarHop[], wanted: string | null): readonly RegistrarHop[] {
  return [...hops.filter(({ uri }) => uri === wanted), ...hops.filter(({ uri }) => uri !== wanted)];
}

/** Of the request about our own Contact; those that remove others name theirs. */
function sentBy(
  course: Course,
  of: {
    readonly hop: RegistrarHop;
    readonly response: SipResponse;
    readonly round: Round;
    readonly before: SentBy | null;
  },
): SentBy {
  return {
    server: of.response.server,
    hop: of.hop.uri,
    contact: of.round.removing === null ? of.response.contact : (of.before?.contact ?? null),
    // Not where the answer came from: its sender may have written any address.
    address: of.hop.address,
    addresses: course.hops.map(({ address }) => address),
    transport: of.hop.transport,
  };
}

/** Takes the step to the next request, or to the end. */
async function follow(
  deps: RoundDeps,
  course: Course,
  step: Step,
): Promise<{ readonly round: Round } | { readonly outcome: RoundOutcome }> {
  switch (step.do) {
    case 'send':
      return { round: step.round };
    case 'next_server':
      course.index += 1;
      return course.index < course.hops.length
        ? { round: { ...step.round, challenges: [], secondAnswers: 0 } }
        : { outcome: step.failure };
    case 'redirect':
      // The registrar names the host: it passes the same checks.
      course.hops = await deps.hopsOf(step.to.host, step.to.transport);
      course.index = 0;
      course.uri = step.to.uri;
      return { round: step.round };
    default:
      return { outcome: step.outcome };
  }
}

/** Null if no worker could send it. */
async function send(
  { context }: RoundDeps,
  {
    registration,
    round,
    hop,
    uri,
    cseq,
  }: {
    readonly registration: SipRegistrationDocument;
    readonly round: Round;
    readonly hop: RegistrarHop;
    readonly uri: string | null;
    readonly cseq: number;
  },
): Promise<SipResponse | null> {
  const { state, token, call_id, from_tag } = registration;
  const isPing = round.purpose === 'ping';
  const identity = {
    // A ping is no part of the registration's order.
    callId: isPing ? randomUUID() : call_id,
    fromTag: isPing ? randomBytes(6).toString('hex') : from_tag,
    cseq,
    cnonce: randomBytes(8).toString('hex'),
    token,
    contactPlace: hop.transport === 'udp' ? state.contactPlace : null,
  };
  const written = writeRequest(round, accountOf(context, registration), identity, uri);
  try {
    return await context.dispatch.sendSip({ ...written, next_hop: hop.uri, server: state.server });
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

function accountOf(
  { secretBox }: Pick<Context, 'secretBox'>,
  { registrar, username, auth_username, password }: SipRegistrationDocument,
): RegistrarAccount {
  return {
    registrar,
    user: username,
    username: auth_username ?? username,
    password: secretBox.open(password),
  };
}

/** Of signalling itself: without the To tag that every answer of a peer has. */
function isSilence({ status, headers }: SipResponse): boolean {
  const to = headers.find(({ name }) => /^(to|t)$/i.test(name))?.value ?? '';
  return OWN_STATUSES.has(status) && !/;\s*tag\s*=/i.test(to);
}
