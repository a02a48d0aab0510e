/**
 * Hands a call over by REFER (RFC 3515): asks the carrier to call somebody else, follows its NOTIFYs, and
 * says how it ended. What a sequence of responses and NOTIFYs means is decided by a pure function; the rest
 * waits.
 */
import type { Clock } from '#base/clock.ts';
import type { ReferRequest, SipDialog } from './signalling.ts';

/** How a REFER ended. */
export type ReferOutcome =
  /** The caller is with the carrier, or with whoever was called: the call is no longer ours. */
  | { readonly is: 'transferred' }
  /** The carrier takes no REFER, or did nothing about it: somebody else must make the call. */
  | { readonly is: 'refused'; readonly status: number }
  /** The carrier called, and this is what it was answered with. */
  | { readonly is: 'failed'; readonly status: number };

/** What is known of a REFER on its way. */
export interface ReferState {
  readonly isAccepted: boolean;
  /** The last status a NOTIFY brought; 0 before the first. */
  readonly lastStatus: number;
}

/** What can happen to it. */
export type ReferInput =
  | { readonly is: 'response'; readonly status: number }
  | { readonly is: 'notify'; readonly status: number | null; readonly isLast: boolean }
  | { readonly is: 'ended' }
  /** Nothing happened for as long as it was waited for. */
  | { readonly is: 'timeout' };

/** Either it goes on, and something must happen within `waitMs`, or it is over. */
export type ReferStep = ReferWait | { readonly outcome: ReferOutcome };

interface ReferWait {
  readonly state: ReferState;
  readonly waitMs: number;
}

/** An accepted REFER without any NOTIFY for this long is one the carrier does nothing about. */
const FIRST_NOTIFY_MS = 10_000;
/** Between two NOTIFYs: whoever is called may let it ring. */
const NEXT_NOTIFY_MS = 45_000;
/** A REFER itself is answered within this time, or its transaction ends (RFC 3261 timer F is 32 s). */
const RESPONSE_MS = 33_000;
/** Stands for an answer that never came. */
const REQUEST_TIMEOUT = 408;

/** Before anything was heard. */
export const SENT: ReferWait = { state: { isAccepted: false, lastStatus: 0 }, waitMs: RESPONSE_MS };

/** Takes one fact. A NOTIFY may overtake the response of the REFER it belongs to. */
export function referStep(state: ReferState, input: ReferInput): ReferStep {
  switch (input.is) {
    case 'response':
      return responded(state, input.status);
    case 'notify':
      return notified(input.status ?? state.lastStatus, input.isLast);
    case 'ended':
      // Carriers that have taken the caller hang up on us, some of them without a last NOTIFY.
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

/** Sends the REFER and follows it to its end; never rejects. The dialog is left to whoever owns it. */
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
