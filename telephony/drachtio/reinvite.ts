/**
 * The re-INVITE that moves a dialog to this worker or this connection (RFC 3261 §14.1), and the BYE if the
 * peer refuses it. Both work for dialogs without a drachtio-srf object.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Srf from 'drachtio-srf';
import { REBIND_HEADER } from '#protocol/worker-watch.ts';
import { type DialogFacts, DialogGone } from '../signalling.ts';
import { CAPABILITIES } from './capabilities.ts';
import { isGone, statusOf } from './errors.ts';

/**
 * Added to the last known CSeq, to exceed any that a lost worker or server may have sent since. Gaps are
 * allowed (RFC 3261 §12.2.2).
 */
export const CSEQ_LEAP = 100;
/** Pause before a re-INVITE that collided with the peer's is repeated (RFC 3261 §14.1). */
const GLARE_MS = 2_500;

/** A dialog after its re-INVITE. `isDeaf`: the server does not forward the peer's requests. */
interface ReinvitedDialog {
  readonly dialog: Srf.Dialog;
  readonly isDeaf: boolean;
}

/**
 * Sends the re-INVITE. A server that never saw the dialog gets it as a new INVITE with both tags.
 * drachtio-server cannot create a second dialog of the same name, so if it still keeps one for an INVITE of
 * ours, the re-INVITE is sent within that one. `marksRebind`: this worker had the dialog last, and the server
 * is one that reads so and keeps it from the peer.
 */
export async function reinvite(
  srf: Srf,
  facts: DialogFacts,
  localSdp: string,
  marksRebind = false,
): Promise<ReinvitedDialog> {
  const { sipCallId, localCseq, remoteTarget } = facts;
  const headers = {
    ...CAPABILITIES,
    ...dialogHeaders(facts),
    ...(marksRebind && { [REBIND_HEADER]: '1' }),
  };
  let cseq = localCseq + CSEQ_LEAP;
  const inExistingDialog = () =>
    inviteInDialog(srf, drachtioName(sipCallId, facts.localTag), { localSdp, cseq: cseq++ });
  const asNewDialog = () =>
    createDialog(srf, remoteTarget, { headers: { ...headers, cseq: `${cseq++} INVITE` }, localSdp });
  const existing = await afterGlare(inExistingDialog).catch((error: unknown) => {
    // The server keeps no such dialog.
    if (statusOf(error) === 0) return null;
    throw asGone(error);
  });
  if (existing) return { dialog: existing, isDeaf: true };
  const dialog = await afterGlare(asNewDialog).catch((error: unknown) => {
    throw asGone(error);
  });
  return { dialog, isDeaf: false };
}

/** Repeats a re-INVITE that collided with the peer's. */
async function afterGlare(send: () => Promise<Srf.Dialog>): Promise<Srf.Dialog> {
  try {
    return await send();
  } catch (error) {
    if (statusOf(error) !== 491) throw error;
    await sleep(GLARE_MS);
    return send();
  }
}

/** drachtio-server's name of a dialog: Call-ID and the tag of the side that sent the INVITE. */
function drachtioName(sipCallId: string, inviterTag: string): string {
  return `${sipCallId};from-tag=${inviterTag}`;
}

function asGone(error: unknown): unknown {
  return isGone(error) ? new DialogGone('the other side has left', { cause: error }) : error;
}

/**
 * Sends BYE after a refused re-INVITE, under every name the server may have for the dialog; no other code
 * would send one.
 */
export function hangUpRefused(
  srf: Srf,
  { sipCallId, localTag, remoteTag, localCseq }: DialogFacts,
  error: unknown,
): void {
  const { res } = error as { readonly res?: { readonly stackDialogId?: string } };
  const names = new Set([
    drachtioName(sipCallId, localTag),
    drachtioName(sipCallId, remoteTag),
    ...(res?.stackDialogId ? [res.stackDialogId] : []),
  ]);
  for (const stackDialogId of names) {
    const headers = { cseq: `${localCseq + 2 * CSEQ_LEAP} BYE` };
    send(srf, { method: 'BYE', stackDialogId, headers }, () => undefined);
  }
}

/**
 * Sends BYE through a server that does not know the dialog, as a request of its own with both tags; resolves
 * when it is answered.
 */
export function hangUpWithout(srf: Srf, facts: DialogFacts): Promise<void> {
  const { localCseq, routeSet, remoteTarget } = facts;
  const headers = { ...dialogHeaders(facts), cseq: `${localCseq + 2 * CSEQ_LEAP} BYE` };
  // The server sends it to the first route, as it does within its own dialogs (RFC 3261 §12.2.1.1).
  const first = /<([^<>]*)>/.exec(routeSet[0] ?? '')?.[1];
  const request = { method: 'BYE', uri: remoteTarget, headers, ...(first && { proxy: first }) };
  return new Promise((resolve, reject) => {
    send(srf, request, (error, sent) => {
      if (error) reject(error);
      else sent.on('response' as 'cancel', () => resolve());
    });
  });
}

/** The headers that name a dialog to a server that does not know it (RFC 3261 §12.2.1.1). */
function dialogHeaders({
  sipCallId,
  localParty,
  remoteParty,
  routeSet,
}: DialogFacts): Record<string, string> {
  const route = routeSet.length > 0 ? { route: routeSet.join(', ') } : {};
  return { 'call-id': sipCallId, from: localParty, to: remoteParty, ...route };
}

/** A request to send. */
interface Request {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Sends a request for which there is no drachtio-srf dialog. */
function send(
  srf: Srf,
  request: Request & ({ readonly stackDialogId: string } | { readonly uri: string }),
  callback: (error: Error | null, sent: Srf.SrfRequest) => void,
): void {
  const { app } = srf as unknown as {
    readonly app: {
      request(options: object, callback: (error: Error | null, sent: Srf.SrfRequest) => void): void;
    };
  };
  app.request({ ...request }, callback);
}

/** Sends a re-INVITE in a dialog that has no drachtio-srf object, and creates the object. */
function inviteInDialog(
  srf: Srf,
  stackDialogId: string,
  { localSdp, cseq }: { readonly localSdp: string; readonly cseq: number },
): Promise<Srf.Dialog> {
  return new Promise((resolve, reject) => {
    const request = {
      method: 'INVITE',
      stackDialogId,
      headers: { ...CAPABILITIES, cseq: `${cseq} INVITE` },
      body: localSdp,
    };
    send(srf, request, (error, sent) => {
      if (error) {
        reject(error);
        return;
      }
      sent.on(
        'response' as 'cancel',
        ((response: Srf.SrfResponse, acknowledge: () => void) => {
          if (response.status < 200) return;
          acknowledge();
          if (response.status >= 300) {
            reject(
              Object.assign(new Error(`the re-INVITE was answered ${response.status}`), {
                status: response.status,
              }),
            );
            return;
          }
          const dialog = new (Srf.Dialog as unknown as new (srf: Srf, type: 'uac', of: object) => Srf.Dialog)(
            srf,
            'uac',
            {
              req: sent,
              res: response,
            },
          );
          (srf as unknown as { addDialog(dialog: Srf.Dialog): void }).addDialog(dialog);
          resolve(dialog);
        }) as never,
      );
    });
  });
}

/** With a callback: requests that follow the answer in the same read must find the dialog's listeners. */
function createDialog(
  srf: Srf,
  uri: string,
  options: { readonly headers: Record<string, string>; readonly localSdp: string },
): Promise<Srf.Dialog> {
  return new Promise((resolve, reject) => {
    srf.createUAC(uri, options as never, {}, (error: unknown, dialog: Srf.Dialog) =>
      error ? reject(error) : resolve(dialog),
    );
  });
}
