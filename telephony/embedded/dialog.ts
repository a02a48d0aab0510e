/**
 * Dialogs (RFC 3261 §12): what requests inside a call are built from, found by id for the application and by
 * Call-ID and local tag for the network.
 */
import { randomUUID } from 'node:crypto';
import type { Timer } from '#base/clock.ts';
import type { App } from './app-protocol.ts';
import type { ClientTransaction, ServerTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';

/** One dialog, early or confirmed. */
export interface Dialog {
  readonly id: string;
  /** Who has the call: another application may take it over. */
  app: App;
  readonly callId: string;
  readonly localTag: string;
  /** From or To as this side writes it, with its tag. */
  readonly localParty: string;
  remoteTag: string | null;
  remoteParty: string;
  /** Contact of the other side: where requests are addressed to. */
  target: string;
  routes: readonly string[];
  localCseq: number;
  /** CSeq of the INVITE this side sent last; its ACK repeats it. */
  inviteCseq: number;
  /** CSeq of the newest request of the other side; null before any. */
  remoteCseq: number | null;
  readonly isServer: boolean;
  isConfirmed: boolean;
  /** The other side hung up while nobody had the call; kept to tell that to whoever comes for it. */
  hasLeft: boolean;
  /** Where the other side was last heard from. */
  peer: Peer;
  /** The INVITE received whose 2xx waits for its ACK. */
  pendingInvite: ServerTransaction | null;
  /** The INVITE sent last that was accepted: its ACK goes again whenever its 2xx does. */
  acceptedInvite: ClientTransaction | null;
  /** The last reliable provisional response of the other side (RFC 3262); 0 before any. */
  remoteRseq: number;
  /** The INVITE received whose reliable provisional response waits for its PRACK. */
  unpracked: ServerTransaction | null;
  /** INVITEs inside the dialog: the last one each side sent. Two at a time are glare (RFC 3261 §14). */
  ownInvite: ClientTransaction | null;
  theirInvite: ServerTransaction | null;
  /** Run while the two sides have agreed that the call ends without refreshes (RFC 4028). */
  sessionTimers: Timer | null;
}

/** What every dialog begins with. */
const FRESH = { sessionTimers: null, remoteRseq: 0, unpracked: null, ownInvite: null, theirInvite: null };

/** The dialogs of one server. */
export class DialogTable {
  readonly #byId = new Map<string, Dialog>();
  /** One INVITE of ours may be answered by several, each with a dialog of its own. */
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

  /** The dialog a request belongs to; a remote tag that is known must match. */
  find(callId: string, localTag: string, remoteTag: string | null): Dialog | null {
    const dialogs = [...(this.#byKey.get(keyOf(callId, localTag)) ?? [])];
    return (
      dialogs.find((dialog) => dialog.remoteTag === remoteTag) ??
      dialogs.find((dialog) => dialog.remoteTag === null || remoteTag === null) ??
      null
    );
  }

  /** The dialogs of an INVITE of ours that nobody has answered yet. */
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

  /** The server stops. */
  close(): void {
    for (const dialog of [...this.#byId.values()]) this.remove(dialog);
  }

  /** The dialogs an application has. */
  of(app: App): Dialog[] {
    return [...this.#byId.values()].filter((dialog) => dialog.app === app);
  }
}

function keyOf(callId: string, localTag: string): string {
  return `${callId}\n${localTag}`;
}
