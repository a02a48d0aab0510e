/** Colleagues who join a running call by phone: their phones are rung, and the first that answers is in. */
import type { Logger } from '#base/log.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { PhonePlace } from '#protocol/phone-places.ts';
import type { WorkerAnswer } from '#protocol/worker-link.ts';
import {
  dialOutboundCall,
  type OutboundCall,
  type OutboundCallDeps,
  type PlaceCall,
} from '#telephony/outbound-call.ts';
import type { Call } from '../calls/call.ts';
import type { Participant } from '../calls/participants.ts';
import { ringPlaces } from '../calls/ring-phones.ts';

/** At once on this worker: each phone that rings has a port. */
const MAX_RINGING = 16;
const RING_MS = 30_000;

/** The call that a colleague is to join. */
interface JoinedCall {
  readonly call: Pick<Call, 'participants' | 'ended'>;
  readonly plan: CallPlan;
}

/** The colleagues who are being rung. */
export class RungColleagues {
  readonly #phone: OutboundCallDeps | null;
  readonly #logger: Logger;
  readonly #ringing = new Map<string, AbortController>();

  /** `phone` null: this worker has no signalling. */
  constructor(phone: OutboundCallDeps | null, logger: Logger) {
    this.#phone = phone;
    this.#logger = logger;
  }

  /** Begins to ring. The colleague joins when somebody answers; nobody is told if nobody does. */
  ring({ call, plan }: JoinedCall, colleague: Participant, places: readonly PhonePlace[]): WorkerAnswer {
    const phone = this.#phone;
    if (!phone) return { ok: false, code: 'gateway_unreachable', message: 'no signalling' };
    if (this.#ringing.size >= MAX_RINGING)
      return { ok: false, code: 'participants_full', message: 'too many phones are ringing' };
    const abort = new AbortController();
    this.#ringing.set(colleague.id, abort);
    void call.ended.then(() => abort.abort());
    const { caller_number: caller, dialed_number: dialled } = plan.system_variables;
    const request = {
      fromNumber: caller || dialled || 'agent',
      headers: {},
      credentials: null,
      recording: plan.record_audio ? { firstSegment: 0, of: 'human' as const } : null,
      ringMs: RING_MS,
    };
    const placeCall: PlaceCall = (wanted, signal) => dialOutboundCall(phone, wanted, signal);
    void ringPlaces({ places, placeCall, request }, abort.signal).then((outcome) => {
      this.#ringing.delete(colleague.id);
      this.#take(call, colleague, { outcome, isOver: abort.signal.aborted });
    });
    return { ok: true, value: { sdp: null } };
  }

  /** Stops ringing for a colleague; false if nobody rings for them. */
  stop(id: string): boolean {
    this.#ringing.get(id)?.abort();
    return this.#ringing.has(id);
  }

  #take(
    { participants }: JoinedCall['call'],
    colleague: Participant,
    { outcome, isOver }: { readonly outcome: OutboundCall; readonly isOver: boolean },
  ): void {
    if (outcome.outcome !== 'answered')
      this.#logger.info({ outcome: outcome.outcome }, 'a colleague did not answer the phone');
    else if (isOver || participants.refusal(colleague.id) !== null) outcome.leg.send({ do: 'close' });
    else participants.join(colleague, outcome.leg);
  }
}
