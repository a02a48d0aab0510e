/**
 * Dialogs (RFC 3261 §12): the state requests within a call are built from. Applications find them by id, the
 * network side by Call-ID and local tag.
 */
import { randomUUID } from 'node:crypto';
import type { Timer } from '#base/clock.ts';
import type { App } from './app-protocol.ts';
import type { ClientTransaction, ServerTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';

/** One dialog, early or confirmed. */
export interface Dialog {
  readonly id: string;
  /** The application that has the call; failover moves it to another. */
  app: App;
  readonly callId: string;
  readonly localTag: string;
  /** From or To as this side writes it, including its tag. */
  readonly localParty: string;
  remoteTag: string | null;
  remoteParty: string;
  /** Contact of the peer: the target of requests. */
  target: string;
  routes: readonly string[];
  localCseq: number;
  /** CSeq of the last INVITE this side sent; its ACK repeats it. */
  inviteCseq: number;
  /** CSeq of the peer's latest request; null before the first. */
  remoteCseq: number | null;
  readonly isServer: boolean;
  isConfirmed: boolean;
  /** The peer hung up while no application had the call; reported to the next application that gets it. */
  hasLeft: boolean;
  /** The address the peer last sent from. */
  peer: Peer;
  /** The received INVITE whose 2xx awaits its ACK. */
  pendingInvite: ServerTransaction | null;
  /** The last INVITE sent that was accepted: its ACK is repeated whenever its 2xx is. */
  acceptedInvite: ClientTransaction | null;
  /** The peer's last reliable provisional response (RFC 3262); 0 before the first. */
  remoteRseq: number;
  /** The received INVITE whose reliable provisional response awaits its PRACK. */
  unpracked: ServerTransaction | null;
  /** INVITEs within the dialog: the last of each side. Two at once are glare (RFC 3261 §14). */
  ownInvite: ClientTransaction | null;
  theirInvite: ServerTransaction | null;
  /**
   * Its worker has brought it here from another server, and the peer has not agreed yet: until then it is in
   * the hands of that server.
   */
  isOnApproval: boolean;
  /** Run if both sides agreed that the call ends unless refreshed (RFC 4028). */
  sessionTimers: Timer | null;
}

/** The initial state of every dialog. */
const FRESH = {
  isOnApproval: false,
  sessionTimers: null,
  remoteRseq: 0,
  unpracked: null,
  ownInvite: null,
  theirInvite: null,
};

/** The dialogs of one server. */
export class DialogTable {
  readonly #byId = new Map<string, Dialog>();
  /** Several peers may answer one INVITE of ours, each in a dialog of its own. */
  readonly #byKey = new Map<string, Set<Dialog>>();

  get size(): number {
    return this.#byId.size;
  }

  add(fields: Omit<Dialog, 'id' | keyof typeof FRESH>): Dialog {
    const dialog: Dialog = { id: randomUUID(), ...FRESH, ...fields };
    const key = keyOf(dialog.callId, dialog.localTag);
    this.#byId.set(dialog.id, dialog);
    this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(dialog));
    return dialog;
  }

  get(id: string): Dialog | null {
    return this.#byId.get(id) ?? null;
  }

  /** The dialog a request belongs to; the remote tag must match if it is known. */
  find(callId: string, localTag: string, remoteTag: string | null): Dialog | null {
    const dialogs = [...(this.#byKey.get(keyOf(callId, localTag)) ?? [])];
    return (
      dialogs.find((dialog) => dialog.remoteTag === remoteTag) ??
      dialogs.find((dialog) => dialog.remoteTag === null || remoteTag === null) ??
      null
    );
  }

  /** The dialogs of an INVITE of ours that has not been answered. */
  early(callId: string, localTag: string): Dialog[] {
    return [...(this.#byKey.get(keyOf(callId, localTag)) ?? [])].filter(
      (dialog) => !dialog.isConfirmed && !dialog.isServer,
    );
  }

  remove(dialog: Dialog): void {
    dialog.sessionTimers?.cancel();
    dialog.sessionTimers = null;
    this.#byId.delete(dialog.id);
    const key = keyOf(dialog.callId, dialog.localTag);
    const others = this.#byKey.get(key);
    others?.delete(dialog);
    if (others?.size === 0) this.#byKey.delete(key);
  }

  /** Called when the server stops. */
  close(): void {
    for (const dialog of [...this.#byId.values()]) this.remove(dialog);
  }

  /** The dialogs of an application. */
  of(app: App): Dialog[] {
    return [...this.#byId.values()].filter((dialog) => dialog.app === app);
  }
}

function keyOf(callId: string, localTag: string): string {
  return `${callId}\n${localTag}`;
}
