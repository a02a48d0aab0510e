/**
 * `Signalling` whose calls pass their audio through a relay: the worker and the peer both see the relay's
 * addresses.
 */
import { isAnswerable, isProtected, isProtectedAnswer } from '../sdp.ts';
import {
  type DialogFacts,
  type DialRequest,
  type IncomingInvite,
  InviteRefused,
  type OutgoingInvite,
  type Signalling,
  type SipDialog,
  type SipDialogListener,
} from '../signalling.ts';
import type { MediaRelay, RelayedCall } from './media-relay.ts';

/** Wraps signalling so that the audio of its calls passes through `relay`. */
export function relayedSignalling(signalling: Signalling, relay: MediaRelay): Signalling {
  return {
    request: (request) => signalling.request(request),
    dial: (request) => new RelayedOutgoingInvite(signalling, request, relay.openCall()),
    async failOver(facts, sdpOffer) {
      // The new worker's call is a new one to the relay; that of the lost worker ends when its packets stop.
      const call = relay.openCall();
      try {
        const offer = await call.offer('worker', sdpOffer).catch(async (error: unknown) => {
          // Neither side would hear the other, and no other code hangs up.
          await (await signalling.failOver(facts, facts.localSdp)).hangUp();
          throw error;
        });
        return await answered(await signalling.failOver(facts, offer), call, sdpOffer);
      } catch (error) {
        call.end();
        throw error;
      }
    },
    onInvite(handler) {
      signalling.onInvite((invite) => void relayed(invite, relay.openCall()).then(handler));
    },
    onRegister: (handler) => signalling.onRegister(handler),
    get isConnected() {
      return signalling.isConnected;
    },
    get servers() {
      return signalling.servers;
    },
    close() {
      signalling.close();
      relay.close();
    },
  };
}

/**
 * An INVITE as the worker sees it. If the relay refuses the offer, the INVITE is refused when it would ring.
 */
async function relayed(invite: IncomingInvite, call: RelayedCall): Promise<IncomingInvite> {
  const { sdpOffer: offer } = invite;
  // An offer that cannot be answered is left for the worker to refuse.
  if (offer === null || !isAnswerable(offer)) return new RelayedInvite(invite, { call, offer });
  try {
    return new RelayedInvite(invite, { call, offer: await call.offer('network', offer) });
  } catch (error) {
    return new RelayedInvite(invite, { call, offer, failure: error });
  }
}

class RelayedInvite implements IncomingInvite {
  readonly sipCallId: string;
  readonly sourceAddress: string;
  readonly sdpOffer: string | null;
  readonly isOverTls: boolean;
  readonly #invite: IncomingInvite;
  readonly #call: RelayedCall;
  readonly #failure: unknown;

  constructor(
    invite: IncomingInvite,
    {
      call,
      offer,
      failure = null,
    }: { readonly call: RelayedCall; readonly offer: string | null; readonly failure?: unknown },
  ) {
    this.#invite = invite;
    this.#call = call;
    this.#failure = failure;
    this.sipCallId = invite.sipCallId;
    this.sourceAddress = invite.sourceAddress;
    this.sdpOffer = offer;
    this.isOverTls = invite.isOverTls;
  }

  ring(): void {
    if (this.#failure !== null) throw this.#failure;
    this.#invite.ring();
  }

  async answer(sdp: string): Promise<SipDialog> {
    const call = this.#call;
    try {
      const described = await (this.sdpOffer === null
        ? call.offer('worker', sdp)
        : call.answer('worker', sdp));
      const dialog = await this.#invite.answer(described);
      return new RelayedDialog(dialog, { call, remoteSdp: this.sdpOffer ?? '', offered: sdp });
    } catch (error) {
      call.end();
      throw error;
    }
  }

  refuse(status: number, headers?: Readonly<Record<string, string>>): void {
    this.#call.end();
    this.#invite.refuse(status, headers);
  }

  onCancel(listener: () => void): void {
    this.#invite.onCancel(() => {
      this.#call.end();
      listener();
    });
  }
}

class RelayedOutgoingInvite implements OutgoingInvite {
  readonly answered: Promise<SipDialog>;
  readonly #call: RelayedCall;
  #invite: OutgoingInvite | null = null;
  #isCancelled = false;
  #onEarlyMedia: ((sdp: string) => void) | null = null;

  constructor(signalling: Signalling, request: DialRequest, call: RelayedCall) {
    this.#call = call;
    this.answered = this.#dial(signalling, request);
    // After `cancel` no code may be awaiting this promise.
    this.answered.catch(() => undefined);
  }

  onEarlyMedia(listener: (sdp: string) => void): void {
    this.#onEarlyMedia = listener;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#invite?.cancel();
  }

  async #dial(signalling: Signalling, request: DialRequest): Promise<SipDialog> {
    const call = this.#call;
    try {
      const sdpOffer = await call.offer('worker', request.sdpOffer);
      if (this.#isCancelled) throw new InviteRefused(487);
      this.#invite = signalling.dial({ ...request, sdpOffer });
      let early: Promise<unknown> = Promise.resolve();
      this.#invite.onEarlyMedia((sdp) => {
        const forwarded = exchanged(call, request.sdpOffer, sdp).then((description) =>
          this.#onEarlyMedia?.(description),
        );
        // Without early media it rings in silence, and the answer decides.
        early = forwarded.catch(() => undefined);
      });
      const dialog = await answered(await this.#invite.answered, call, request.sdpOffer);
      // An answer without a description keeps the early one.
      await early;
      return dialog;
    } catch (error) {
      call.end();
      throw error;
    }
  }
}

/** The dialog after an answer to the worker's offer; hung up if the relay refuses the answer. */
async function answered(dialog: SipDialog, call: RelayedCall, offer: string): Promise<SipDialog> {
  // Before any await: a BYE or a re-INVITE may directly follow the answer.
  const relayedDialog = new RelayedDialog(dialog, { call, remoteSdp: '', offered: offer });
  try {
    const { remoteSdp } = dialog.facts;
    // A 200 without a description keeps the previous one.
    if (remoteSdp.trim() !== '') relayedDialog.remoteSdp = await exchanged(call, offer, remoteSdp);
    return relayedDialog;
  } catch (error) {
    await relayedDialog.hangUp();
    throw error;
  }
}

/**
 * The network's answer as the worker sees it. The relay would hide an answer that is unencrypted or has no
 * key although the offer was protected: the worker gets such an answer unchanged and refuses it.
 */
async function exchanged(call: RelayedCall, offer: string, answer: string): Promise<string> {
  return isProtected(offer) && !isProtectedAnswer(answer) ? answer : call.answer('network', answer);
}

class RelayedDialog implements SipDialog {
  /** The peer's description as the worker sees it. */
  remoteSdp: string;
  readonly #dialog: SipDialog;
  readonly #call: RelayedCall;
  readonly #listening: Promise<SipDialogListener>;
  readonly #listen: (listener: SipDialogListener) => void;
  /** The worker's last offer. */
  #offered: string;

  constructor(
    dialog: SipDialog,
    {
      call,
      remoteSdp,
      offered,
    }: { readonly call: RelayedCall; readonly remoteSdp: string; readonly offered: string },
  ) {
    this.#dialog = dialog;
    this.#call = call;
    this.remoteSdp = remoteSdp;
    this.#offered = offered;
    const { promise, resolve } = Promise.withResolvers<SipDialogListener>();
    this.#listening = promise;
    this.#listen = resolve;
    dialog.listen({
      onEnded: () => this.#ended(),
      onOffer: (sdp) => this.#answerTo(sdp),
      makeOffer: () => this.#makeOffer(),
      onAnswer: (sdp) => void this.#takeAnswer(sdp),
      onInfo: (info) => void promise.then((listener) => listener.onInfo(info)),
      onMoved: () => void promise.then((listener) => listener.onMoved?.()),
    });
  }

  get facts(): DialogFacts {
    return { ...this.#dialog.facts, remoteSdp: this.remoteSdp };
  }

  listen(listener: SipDialogListener): void {
    this.#listen(listener);
  }

  async hangUp(): Promise<void> {
    this.#call.end();
    await this.#dialog.hangUp();
  }

  leave(silent: Promise<void>): void {
    // The worker that has taken the dialog has a call of its own at the relay. Through this one the peer
    // hears silence until then.
    void silent.then(() => this.#call.end());
    this.#dialog.leave(silent);
  }

  refer: SipDialog['refer'] = (request, listener) => this.#dialog.refer(request, listener);

  get takesInfo(): boolean {
    return this.#dialog.takesInfo;
  }

  sendInfo(contentType: string, body: string): Promise<number> {
    return this.#dialog.sendInfo(contentType, body);
  }

  // Requests that arrive before the worker listens are queued.

  #ended(): void {
    this.#call.end();
    void this.#listening.then((listener) => listener.onEnded());
  }

  async #answerTo(offer: string): Promise<string | null> {
    // The relay switches at once, so it must not see an offer that will be refused.
    if (!isAnswerable(offer)) return null;
    const described = await this.#call.offer('network', offer);
    const answer = await (await this.#listening).onOffer(described);
    return answer === null ? null : this.#call.answer('worker', answer);
  }

  async #makeOffer(): Promise<string | null> {
    const offer = await (await this.#listening).makeOffer();
    if (offer === null) return null;
    this.#offered = offer;
    return this.#call.offer('worker', offer);
  }

  async #takeAnswer(answer: string): Promise<void> {
    const listener = await this.#listening;
    // An answer that the relay refuses counts as unusable, like a missing one.
    const described =
      answer.trim() === '' ? '' : await exchanged(this.#call, this.#offered, answer).catch(() => '');
    listener.onAnswer(described);
  }
}
