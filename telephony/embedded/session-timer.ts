/**
 * Session timers (RFC 4028): a call whose other side has silently gone ends when no refresh comes. The
 * interval is agreed in a request and its 2xx; whoever is to refresh sends a re-INVITE or an UPDATE at half
 * of it, this server always an UPDATE.
 */
import { type Core, dialogPeer, dialogRequest, loseDialog, ownContact, startClient } from './core.ts';
import type { Dialog } from './dialog.ts';
import { header, headerList, type SipHeader, type SipMessage } from './message.ts';

/** The shortest interval that is taken, s (RFC 4028 §5). */
export const MIN_SESSION_SECONDS = 90;
/** A BYE goes out this long before the end at most (RFC 4028 §10). */
const MAX_MARGIN_SECONDS = 32;
const MS = 1_000;

/** What two sides have agreed on. */
export interface SessionTimer {
  readonly seconds: number;
  /** True: this server refreshes; false: the other side does. */
  readonly isOurs: boolean;
}

/** Session-Expires of a message; null when it has none or it is malformed. */
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

/** True for a message whose sender knows session timers. */
function knowsTimers(message: SipMessage): boolean {
  return [...headerList(message, 'supported'), ...headerList(message, 'require')].some(
    (option) => option.toLowerCase() === 'timer',
  );
}

/** Whether this server could refresh: its UPDATE must be taken. */
function takesUpdate(message: SipMessage): boolean {
  return headerList(message, 'allow').some((method) => method.toUpperCase() === 'UPDATE');
}

/**
 * True for a request that asks for an interval too short; only who knows timers can ask again (RFC 4028 §9).
 */
export function isTooShort(request: SipMessage): boolean {
  const asked = sessionExpires(request);
  return asked !== null && asked.seconds < MIN_SESSION_SECONDS && knowsTimers(request);
}

/**
 * What a request asks for and this server agrees to: the sender refreshes unless it wants us to (RFC 4028
 * §9). Null: no timer, because none is asked for, or nobody is there who could refresh.
 */
export function agreeTimer(request: SipMessage): SessionTimer | null {
  const asked = sessionExpires(request);
  if (asked === null) return null;
  const isOurs = asked.refresher === 'uas' || !knowsTimers(request);
  if (isOurs && !takesUpdate(request)) return null;
  return { seconds: Math.max(asked.seconds, MIN_SESSION_SECONDS), isOurs };
}

/** What the 2xx to such a request says of it. */
export function timerHeaders(timer: SessionTimer | null, request: SipMessage): SipHeader[] {
  if (timer === null) return [];
  const value = `${timer.seconds};refresher=${timer.isOurs ? 'uas' : 'uac'}`;
  return [
    { name: 'Session-Expires', value },
    ...(knowsTimers(request) ? [{ name: 'Require', value: 'timer' }] : []),
  ];
}

/** What the other side's 2xx to a request of ours says (RFC 4028 §7.2). */
export function timerOfResponse(response: SipMessage): SessionTimer | null {
  const agreed = sessionExpires(response);
  return (
    agreed && { seconds: Math.max(agreed.seconds, MIN_SESSION_SECONDS), isOurs: agreed.refresher !== 'uas' }
  );
}

/** Starts the interval anew, as every 2xx to a re-INVITE or UPDATE does; null ends it. */
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

/** An UPDATE that changes nothing. Its 2xx starts the interval anew; without one the call ends with it. */
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
