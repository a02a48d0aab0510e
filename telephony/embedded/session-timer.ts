/**
 * Session timers (RFC 4028): a call whose peer has silently disappeared ends when refreshes stop. The
 * interval is agreed in a request and its 2xx. The refresher sends a re-INVITE or an UPDATE at half the
 * interval; this server always sends an UPDATE.
 */
import { type Core, dialogPeer, dialogRequest, loseDialog, ownContact, startClient } from './core.ts';
import type { Dialog } from './dialog.ts';
import { header, headerList, type SipHeader, type SipMessage } from './message.ts';

/** Shortest accepted interval, s (RFC 4028 §5). */
export const MIN_SESSION_SECONDS = 90;
/** BYE is sent at most this long before the interval ends (RFC 4028 §10). */
const MAX_MARGIN_SECONDS = 32;
const MS = 1_000;

/** The agreed timer. */
export interface SessionTimer {
  readonly seconds: number;
  /** True: this server refreshes; false: the peer does. */
  readonly isOurs: boolean;
}

/** Session-Expires of a message; null if absent or malformed. */
function sessionExpires(
  message: SipMessage,
): { readonly seconds: number; readonly refresher: 'uac' | 'uas' | null } | null {
  const match = /^\s*(\d{1,9})\s*(?:;(.*))?$/.exec(header(message, 'session-expires') ?? '');
  if (!match) return null;
  const refresher = /(?:^|;)\s*refresher\s*=\s*(uac|uas)\b/i.exec(match[2] ?? '')?.[1]?.toLowerCase();
  return {
    seconds: Number(match[1]),
    refresher: refresher === 'uac' || refresher === 'uas' ? refresher : null,
  };
}

/** True for a message whose sender supports session timers. */
function knowsTimers(message: SipMessage): boolean {
  return [...headerList(message, 'supported'), ...headerList(message, 'require')].some(
    (option) => option.toLowerCase() === 'timer',
  );
}

/** Whether this server could refresh: the peer must accept UPDATE. */
function takesUpdate(message: SipMessage): boolean {
  return headerList(message, 'allow').some((method) => method.toUpperCase() === 'UPDATE');
}

/**
 * True for a request whose interval is too short; only a sender that supports timers can retry (RFC 4028 §9).
 */
export function isTooShort(request: SipMessage): boolean {
  const requested = sessionExpires(request);
  return requested !== null && requested.seconds < MIN_SESSION_SECONDS && knowsTimers(request);
}

/**
 * The timer a request asks for, as this server agrees to it: the sender refreshes unless it asks us to (RFC
 * 4028 §9). Null: no timer, because none is requested or neither side can refresh.
 */
export function agreeTimer(request: SipMessage): SessionTimer | null {
  const requested = sessionExpires(request);
  if (requested === null) return null;
  const isOurs = requested.refresher === 'uas' || !knowsTimers(request);
  if (isOurs && !takesUpdate(request)) return null;
  return { seconds: Math.max(requested.seconds, MIN_SESSION_SECONDS), isOurs };
}

/** The Session-Expires header of the 2xx to such a request. */
export function timerHeaders(timer: SessionTimer | null, request: SipMessage): SipHeader[] {
  if (timer === null) return [];
  const value = `${timer.seconds};refresher=${timer.isOurs ? 'uas' : 'uac'}`;
  return [
    { name: 'Session-Expires', value },
    ...(knowsTimers(request) ? [{ name: 'Require', value: 'timer' }] : []),
  ];
}

/** The timer in the peer's 2xx to a request of ours (RFC 4028 §7.2). */
export function timerOfResponse(response: SipMessage): SessionTimer | null {
  const agreed = sessionExpires(response);
  return (
    agreed && { seconds: Math.max(agreed.seconds, MIN_SESSION_SECONDS), isOurs: agreed.refresher !== 'uas' }
  );
}

/** Restarts the interval, as every 2xx to a re-INVITE or UPDATE does; null stops it. */
export function restartTimer(core: Core, dialog: Dialog, timer: SessionTimer | null): void {
  dialog.sessionTimers?.cancel();
  dialog.sessionTimers = null;
  if (timer === null) return;
  const { clock } = core.options;
  const margin = Math.min(MAX_MARGIN_SECONDS, timer.seconds / 3);
  const end = clock.after((timer.seconds - margin) * MS, () => loseDialog(core, dialog));
  const refresh = timer.isOurs
    ? clock.after((timer.seconds / 2) * MS, () => sendRefresh(core, dialog, timer))
    : null;
  dialog.sessionTimers = {
    cancel() {
      end.cancel();
      refresh?.cancel();
    },
  };
}

/** Sends an UPDATE without changes. Its 2xx restarts the interval; without one the call ends with it. */
function sendRefresh(core: Core, dialog: Dialog, timer: SessionTimer): void {
  const peer = dialogPeer(core, dialog);
  dialog.localCseq += 1;
  const headers = [
    { name: 'Contact', value: ownContact(core, peer, dialog.target) },
    { name: 'Supported', value: 'timer' },
    { name: 'Session-Expires', value: `${timer.seconds};refresher=uac` },
    { name: 'Min-SE', value: String(MIN_SESSION_SECONDS) },
  ];
  const { branch, message } = dialogRequest(core, dialog, {
    method: 'UPDATE',
    cseq: dialog.localCseq,
    headers,
    body: '',
  });
  startClient(
    core,
    { branch, message, method: 'UPDATE', peer },
    { app: null, dialog, onFailed: () => undefined },
  );
}
