/**
 * Transfers a call by REFER (RFC 3515): asks the carrier to call the target, follows its NOTIFYs and returns
 * the outcome. A pure function interprets the responses and NOTIFYs.
 */
import type { Clock } from '#base/clock.ts';
import type { ReferRequest, SipDialog } from './signalling.ts';

/** Outcome of a REFER. */
export type ReferOutcome =
  /** The carrier or the target has the caller: the call is no longer ours. */
  | { readonly is: 'transferred' }
  /** The carrier does not support REFER or ignored it: the call must be made another way. */
  | { readonly is: 'refused'; readonly status: number }
  /** The carrier called the target and got this answer. */
  | { readonly is: 'failed'; readonly status: number };

/** State of a REFER in progress. */
export interface ReferState {
  readonly isAccepted: boolean;
  /** Status of the last NOTIFY; 0 before the first. */
  readonly lastStatus: number;
}

/** Inputs of the state machine. */
export type ReferInput =
  | { readonly is: 'response'; readonly status: number }
  | { readonly is: 'notify'; readonly status: number | null; readonly isLast: boolean }
  | { readonly is: 'ended' }
  /** Nothing happened for `waitMs`. */
  | { readonly is: 'timeout' };

/** Either the REFER is still in progress and something must happen within `waitMs`, or it is over. */
export type ReferStep = ReferWait | { readonly outcome: ReferOutcome };

interface ReferWait {
  readonly state: ReferState;
  readonly waitMs: number;
}

/** A REFER that is accepted but has no NOTIFY for this long is ignored by the carrier. */
const FIRST_NOTIFY_MS = 10_000;
/** Longest time between two NOTIFYs: the target may let it ring. */
const NEXT_NOTIFY_MS = 45_000;
/** A REFER is answered within this time, or its transaction ends (RFC 3261 timer F is 32 s). */
const RESPONSE_MS = 33_000;
/** Stands for a missing answer. */
const REQUEST_TIMEOUT = 408;

/** The initial state. */
export const SENT: ReferWait = { state: { isAccepted: false, lastStatus: 0 }, waitMs: RESPONSE_MS };

/** Handles one input. A NOTIFY may arrive before the response to its REFER. */
export function referStep(state: ReferState, input: ReferInput): ReferStep {
  switch (input.is) {
    case 'response':
      return responded(state, input.status);
    case 'notify':
      return notified(input.status ?? state.lastStatus, input.isLast);
    case 'ended':
      // A carrier that has taken over the caller hangs up on us, sometimes without a last NOTIFY.
      return {
        outcome: state.isAccepted ? { is: 'transferred' } : { is: 'refused', status: REQUEST_TIMEOUT },
      };
    case 'timeout':
      return { outcome: { is: state.lastStatus === 0 ? 'refused' : 'failed', status: REQUEST_TIMEOUT } };
    default:
      return input satisfies never;
  }
}

function responded(state: ReferState, status: number): ReferStep {
  if (status === 0 || status >= 300) return { outcome: { is: 'refused', status } };
  return {
    state: { ...state, isAccepted: true },
    waitMs: state.lastStatus === 0 ? FIRST_NOTIFY_MS : NEXT_NOTIFY_MS,
  };
}

function notified(status: number, isLast: boolean): ReferStep {
  if (status >= 300) return { outcome: { is: 'failed', status } };
  if (status >= 200) return { outcome: { is: 'transferred' } };
  if (isLast) return { outcome: { is: 'failed', status: REQUEST_TIMEOUT } };
  return { state: { isAccepted: true, lastStatus: status }, waitMs: NEXT_NOTIFY_MS };
}

/** Sends the REFER and follows it to its end; never rejects. Does not end the dialog. */
export function referCall(
  deps: { readonly clock: Clock; readonly refer: SipDialog['refer'] },
  request: ReferRequest,
): Promise<ReferOutcome> {
  return new Promise((resolve) => {
    let { state } = SENT;
    let timer = deps.clock.after(SENT.waitMs, () => take({ is: 'timeout' }));
    let isOver = false;
    const take = (input: ReferInput) => {
      if (isOver) return;
      timer.cancel();
      const step = referStep(state, input);
      if ('outcome' in step) {
        isOver = true;
        resolve(step.outcome);
        return;
      }
      state = step.state;
      timer = deps.clock.after(step.waitMs, () => take({ is: 'timeout' }));
    };
    deps.refer(request, {
      onResponse: (status) => take({ is: 'response', status }),
      onNotify: (status, isLast) => take({ is: 'notify', status, isLast }),
      onEnded: () => take({ is: 'ended' }),
    });
  });
}
