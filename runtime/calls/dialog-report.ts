/** Converts an answered dialog to a report and back, for the worker that continues it after a failover. */
import type { ReportedDialog } from '#protocol/worker-link.ts';
import type { DialogFacts } from '#telephony/signalling.ts';
import type { AnsweredCall } from '#telephony/sip-leg.ts';

/**
 * Reports the dialog of an answered call now, and again whenever another SIP server has it: a failover uses
 * the server that was reported last.
 */
export function reportDialog(
  { dialog, onMoved }: Pick<AnsweredCall, 'dialog' | 'onMoved'>,
  report: (dialog: ReportedDialog) => void,
): void {
  report(dialogReport(dialog));
  onMoved((moved) => report(dialogReport(moved)));
}

/** The fields of a `dialog` report. */
export function dialogReport(dialog: DialogFacts): ReportedDialog {
  return {
    sip_call_id: dialog.sipCallId,
    local_tag: dialog.localTag,
    remote_tag: dialog.remoteTag,
    local_party: dialog.localParty,
    remote_party: dialog.remoteParty,
    route_set: [...dialog.routeSet],
    local_cseq: dialog.localCseq,
    remote_target: dialog.remoteTarget,
    local_contact: dialog.localContact,
    local_sdp: dialog.localSdp,
    remote_sdp: dialog.remoteSdp,
    ...(dialog.server === undefined ? {} : { server: dialog.server }),
  };
}

/** The dialog described by a report. */
export function dialogFacts(report: ReportedDialog): DialogFacts {
  return {
    sipCallId: report.sip_call_id,
    localTag: report.local_tag,
    remoteTag: report.remote_tag,
    localParty: report.local_party,
    remoteParty: report.remote_party,
    routeSet: report.route_set,
    localCseq: report.local_cseq,
    remoteTarget: report.remote_target,
    localContact: report.local_contact,
    localSdp: report.local_sdp,
    remoteSdp: report.remote_sdp,
    server: report.server,
  };
}
