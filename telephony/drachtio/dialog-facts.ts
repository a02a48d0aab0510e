/** Extracts from drachtio-srf's objects what failover needs of a dialog. */
import type Srf from 'drachtio-srf';
import type { DialogFacts } from '../signalling.ts';

/** Returns the facts of a dialog that drachtio-srf has just created. */
export function factsOf(dialog: Srf.Dialog): DialogFacts {
  const isOurs = dialog.type === 'uac';
  const { req, sip } = dialog;
  const received = receivedFirst(dialog);
  const recordRoute = received.get('Record-Route') as string | undefined;
  const routes = recordRoute === undefined ? [] : recordRoute.split(/,(?=\s*<)/).map((route) => route.trim());
  return {
    sipCallId: dialog.sip.callId,
    localTag: dialog.sip.localTag,
    remoteTag: dialog.sip.remoteTag,
    localParty: isOurs ? req.get('From') : `${req.get('To')};tag=${sip.localTag}`,
    remoteParty: received.get(isOurs ? 'To' : 'From'),
    // The caller sees the route set in reverse order (RFC 3261 §12.1.2).
    routeSet: isOurs ? routes.reverse() : routes,
    localCseq: isOurs ? Number.parseInt(dialog.req.get('CSeq'), 10) : 0,
    remoteTarget: dialog.remote.uri,
    localContact: contactUri((dialog.local as unknown as { readonly contact: string }).contact),
    localSdp: dialog.local.sdp,
    remoteSdp: dialog.remote.sdp,
  };
}

/** Facts of a dialog after a re-INVITE: parties and route set stay the same (RFC 3261 §12.2.1.2). */
export function continued(before: DialogFacts, dialog: Srf.Dialog): DialogFacts {
  const { localCseq, remoteTarget, localContact, localSdp, remoteSdp } = factsOf(dialog);
  return { ...before, localCseq, remoteTarget, localContact, localSdp, remoteSdp };
}

/** Asterisk and FreePBX take INFO (`dtmf_mode=info`) and leave it out of Allow. */
const TAKES_INFO_SILENTLY = /^(?:Asterisk|FPBX)\b/;

/** Whether the peer’s Allow header has INFO, or its name is that of one that takes it all the same. */
export function allowsInfo(dialog: Srf.Dialog): boolean {
  const received = receivedFirst(dialog);
  const read = (name: string) => String(received.get(name) ?? '');
  return (
    /(?:^|[\s,])INFO(?:[\s,]|$)/i.test(read('Allow')) ||
    TAKES_INFO_SILENTLY.test(read('Server') || read('User-Agent'))
  );
}

/** The peer's message that began the dialog: its INVITE, or its answer to ours. */
function receivedFirst(dialog: Srf.Dialog): Srf.SrfRequest | Srf.SrfResponse {
  const { res } = dialog as unknown as { readonly res: Srf.SrfResponse };
  return dialog.type === 'uac' ? res : dialog.req;
}

/** Returns the URI of a Contact header. */
function contactUri(contact: string): string {
  return /<([^<>]*)>/.exec(contact)?.[1] ?? contact;
}
