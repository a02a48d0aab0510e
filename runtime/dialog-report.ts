/** An answered dialog as it is reported: enough for another worker to take it over, or to hang it up. */
import type { DialogFacts } from '#telephony/signalling.ts';

/** The fields of a `dialog` report. */
export function dialogReport(dialog: DialogFacts) {
  return {
    sip_call_id: dialog.sipCallId,
    local_tag: dialog.localTag,
    remote_tag: dialog.remoteTag,
    route_set: [...dialog.routeSet],
    local_cseq: dialog.localCseq,
    remote_target: dialog.remoteTarget,
    local_contact: dialog.localContact,
    local_sdp: dialog.localSdp,
    remote_sdp: dialog.remoteSdp,
  };
}
