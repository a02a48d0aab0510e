import { beforeEach, describe, expect, it } from 'vitest';
import { fault } from '#config/errors.ts';
import type { MediaRelay, RelaySide } from '#telephony/relay/media-relay.ts';
import { relayedSignalling } from '#telephony/relay/relayed-signalling.ts';
import type {
  DialogFacts,
  DialRequest,
  OutgoingInvite,
  Signalling,
  SipDialog,
  SipDialogListener,
} from '#telephony/signalling.ts';

const audio = (port: number, protocol = 'RTP/AVP', more = '') =>
  `v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio ${port} ${protocol} ` +
  `0\r\n${more}`;
const CRYPTO = 'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\r\n';
const FACTS: DialogFacts = {
  sipCallId: 'c',
  localTag: 'l',
  remoteTag: 'r',
  localParty: '<sip:l>',
  remoteParty: '<sip:r>',
  routeSet: [],
  localCseq: 1,
  remoteTarget: 'sip:r',
  localContact: 'sip:l',
  localSdp: audio(1),
  remoteSdp: '',
};
const REQUEST: DialRequest = {
  toUri: 'sip:callee@trunk',
  fromNumber: '+15550100',
  sdpOffer: audio(4_000),
  headers: {},
  credentials: null,
};

/** A relay that answers with its input, after a delay set by the test. */
class Relay implements MediaRelay {
  isThere = true;
  readonly exchanges: string[] = [];
  open = 0;
  held: Promise<void> = Promise.resolve();

  openCall() {
    this.open += 1;
    let isOver = false;
    const exchange = async (what: string, side: RelaySide, sdp: string) => {
      await this.held;
      if (!this.isThere) throw fault('media_relay_unreachable');
      this.exchanges.push(`${what} by ${side}`);
      return sdp.replaceAll('192.0.2.1', '203.0.113.1');
    };
    return {
      offer: (side: RelaySide, sdp: string) => exchange('offer', side, sdp),
      answer: (side: RelaySide, sdp: string) => exchange('answer', side, sdp),
      end: () => {
        if (!isOver) this.open -= 1;
        isOver = true;
      },
    };
  }

  check = async () => undefined;
  close = () => undefined;
}

class Dialog implements SipDialog {
  readonly takesInfo = false;
  listener: SipDialogListener | null = null;
  isHungUp = false;
  readonly facts: DialogFacts;

  constructor(remoteSdp = audio(5_000)) {
    this.facts = { ...FACTS, remoteSdp };
  }

  listen(listener: SipDialogListener): void {
    this.listener = listener;
  }

  leave(): void {
    this.listener = null;
  }

  async hangUp(): Promise<void> {
    this.isHungUp = true;
  }

  refer(): void {
    throw new Error('not here');
  }

  async sendInfo(): Promise<never> {
    throw new Error('not here');
  }
}

/** Signalling whose remote side is the test. */
class FarSide implements Signalling {
  readonly servers = ['10.0.0.1:9022'];
  isConnected = true;
  dialled: DialRequest[] = [];
  resumed: string[] = [];
  resumedDialog = new Dialog();
  answer = Promise.withResolvers<SipDialog>();
  early: (sdp: string) => void = () => undefined;

  async request(): Promise<never> {
    throw new Error('not here');
  }

  dial(request: DialRequest): OutgoingInvite {
    this.dialled.push(request);
    return {
      answered: this.answer.promise,
      onEarlyMedia: (listener) => {
        this.early = listener;
      },
      cancel: () => undefined,
    };
  }

  async failOver(_facts: DialogFacts, sdpOffer: string): Promise<SipDialog> {
    this.resumed.push(sdpOffer);
    return this.resumedDialog;
  }

  onInvite(): void {
    throw new Error('not here');
  }

  onRegister(): void {
    throw new Error('not here');
  }

  close(): void {
    this.isConnected = false;
  }
}

/** Runs all work that waits for no timer. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

let relay: Relay;
let far: FarSide;
let signalling: Signalling;

beforeEach(() => {
  relay = new Relay();
  far = new FarSide();
  signalling = relayedSignalling(far, relay);
});

describe('a call out through a relay', () => {
  it('reports early media before the answer based on it, however slow the relay is', async () => {
    const earlyMedia: string[] = [];
    const invite = signalling.dial(REQUEST);
    invite.onEarlyMedia((sdp) => earlyMedia.push(sdp));
    await settle();
    const { promise, resolve } = Promise.withResolvers<void>();
    relay.held = promise;
    far.early(audio(5_000));
    far.answer.resolve(new Dialog(''));
    let isAnswered = false;
    void invite.answered.then(() => {
      isAnswered = true;
    });
    await settle();
    expect(isAnswered).toBe(false);
    resolve();
    expect((await invite.answered).facts.remoteSdp).toBe('');
    expect(earlyMedia).toEqual([audio(5_000).replaceAll('192.0.2.1', '203.0.113.1')]);
  });

  it.each([
    ['in the clear', audio(5_000)],
    ['in the clear, with a protected stream that is refused', `${audio(5_000)}m=audio 0 RTP/SAVP 0\r\n`],
    ['with no key', audio(5_000, 'RTP/SAVP')],
    ['with encryption switched off', audio(5_000, 'RTP/SAVP', CRYPTO.replace('AES_CM_128', 'NULL'))],
  ])('shows protected audio that is answered %s unchanged, for the worker to refuse', async (_, answer) => {
    const invite = signalling.dial({ ...REQUEST, sdpOffer: audio(4_000, 'RTP/SAVP', CRYPTO) });
    far.answer.resolve(new Dialog(answer));
    expect((await invite.answered).facts.remoteSdp).toBe(answer);
    expect(relay.exchanges).toEqual(['offer by worker']);
  });

  it('is never placed if it is cancelled during the relay request', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    relay.held = promise;
    const invite = signalling.dial(REQUEST);
    invite.cancel();
    resolve();
    await expect(invite.answered).rejects.toMatchObject({ status: 487 });
    expect(far.dialled).toEqual([]);
    expect(relay.open).toBe(0);
  });

  it('delivers an early hang-up to the first listener', async () => {
    const dialog = new Dialog();
    const invite = signalling.dial(REQUEST);
    far.answer.resolve(dialog);
    const answered = await invite.answered;
    dialog.listener?.onEnded();
    let isEnded = false;
    const none = () => null;
    answered.listen({
      onEnded: () => (isEnded = true),
      onOffer: none,
      makeOffer: none,
      onAnswer: none,
      onInfo: none,
    });
    await settle();
    expect(isEnded).toBe(true);
    expect(relay.open).toBe(0);
  });

  it('is hung up when the relay refuses the answer', async () => {
    const dialog = new Dialog();
    const invite = signalling.dial(REQUEST);
    await settle();
    relay.isThere = false;
    far.answer.resolve(dialog);
    await expect(invite.answered).rejects.toMatchObject({ code: 'media_relay_unreachable' });
    expect(dialog.isHungUp).toBe(true);
    expect(relay.open).toBe(0);
  });
});

describe('a change of a call through a relay', () => {
  it('never reaches the relay, which would apply it, if neither side can answer it', async () => {
    const dialog = new Dialog();
    const invite = signalling.dial(REQUEST);
    far.answer.resolve(dialog);
    await invite.answered;
    expect(await dialog.listener?.onOffer(audio(6_000).replace('RTP/AVP 0', 'RTP/AVP 18'))).toBeNull();
    expect(relay.exchanges).toEqual(['offer by worker', 'answer by network']);
  });
});

describe('a call continued after a failover', () => {
  it('is hung up if no relay answers, because no other part would do it', async () => {
    relay.isThere = false;
    await expect(signalling.failOver(FACTS, audio(4_000))).rejects.toMatchObject({
      code: 'media_relay_unreachable',
    });
    expect(far.resumed).toEqual([FACTS.localSdp]);
    expect(far.resumedDialog.isHungUp).toBe(true);
    expect(relay.open).toBe(0);
  });
});
