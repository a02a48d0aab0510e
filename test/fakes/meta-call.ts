/** One WhatsApp call at Meta's side: its dialog, its session description, and its Opus in SRTP. */
import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '#base/clock.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { openRtpPeer, type RtpPeer } from './rtp-peer.ts';

const SUITE = 'AES_CM_128_HMAC_SHA1_80';
const TRACK = '07092115-d151-427e-8722-26c70936b104';

/** Media of a business number: with keys in the description, or as for browsers, which is the default. */
export type MetaMedia = 'sdes' | 'webrtc';

/** Who is who in a call, as the requests within it say. */
export interface MetaParties {
  readonly callId: string;
  /** From and To of Meta's own requests. */
  readonly from: string;
  readonly to: string;
  /** Contact of the business. */
  readonly target: string;
}

/** The audio of a call, before and after the business has answered or called. */
export class MetaAudio {
  readonly #peer: RtpPeer;
  readonly #key = newSrtpKey();
  #isClosed = false;

  private constructor(peer: RtpPeer) {
    this.#peer = peer;
  }

  static async open(): Promise<MetaAudio> {
    return new MetaAudio(await openRtpPeer('opus'));
  }

  /** An offer, or an answer with the business's payload type of keys. */
  describe(media: MetaMedia, digits = 126): string {
    const isSdes = media === 'sdes';
    return `${[
      'v=0',
      'o=- 1746659966980 2 IN IP4 127.0.0.1',
      's=-',
      't=0 0',
      'a=group:BUNDLE audio',
      `a=msid-semantic: WMS ${TRACK}`,
      ...(isSdes ? [] : ['a=ice-lite']),
      `m=audio ${this.#peer.port} ${isSdes ? 'RTP/SAVP' : 'UDP/TLS/RTP/SAVPF'} 111 ${digits}`,
      'c=IN IP4 127.0.0.1',
      'a=rtcp:9 IN IP4 0.0.0.0',
      ...(isSdes
        ? [`a=crypto:1 ${SUITE} inline:${this.#key}`]
        : [
            `a=candidate:1775469887 1 udp 2122260223 127.0.0.1 ${this.#peer.port} typ host generation 0`,
            'a=ice-ufrag:RmDDkfzkwbexPfbC',
            'a=ice-pwd:abcdefghijklmnopqrstuvwx',
            `a=fingerprint:sha-256 ${Array.from({ length: 32 }, () => 'AB').join(':')}`,
            'a=setup:actpass',
          ]),
      'a=mid:audio',
      'a=sendrecv',
      `a=msid:${TRACK} WhatsAppTrack1`,
      'a=rtcp-mux',
      'a=rtpmap:111 opus/48000/2',
      'a=fmtp:111 maxaveragebitrate=20000;maxplaybackrate=16000;minptime=20;sprop-maxcapturerate=16000;' +
        'useinbandfec=1',
      `a=rtpmap:${digits} telephone-event/8000`,
      'a=maxptime:20',
      'a=ptime:20',
      'a=ssrc:1615009994 cname:WhatsAppAudioStream1',
    ].join('\r\n')}\r\n`;
  }

  /**
   * Sends to the business, once a packet of it has arrived: the business has to send the first one. Throws
   * if its description is not one of protected Opus.
   */
  connect(description: string): void {
    const [, port = ''] = /^m=audio (\d+) RTP\/SAVP (?:\d+ )*111\b/m.exec(description) ?? [];
    const [, receiveKey = ''] = /^a=crypto:\d+ AES_CM_128_HMAC_SHA1_80 inline:(\S+)/m.exec(description) ?? [];
    if (port === '' || receiveKey === '' || !/^a=rtpmap:111 opus\/48000\/2\r?$/m.test(description))
      throw new Error(`Meta does not take this description:\n${description}`);
    this.#peer.protect({ suite: SUITE, sendKey: this.#key, receiveKey });
    void this.#send(Number(port));
  }

  /** What the business has said so far, 8 kHz. */
  heard(): Int16Array {
    return this.#peer.audio();
  }

  close(): void {
    if (!this.#isClosed) this.#peer.close();
    this.#isClosed = true;
  }

  /** A silent room: a tone would pass for the beep of a mailbox. */
  async #send(port: number): Promise<void> {
    while (this.#peer.heard.length === 0 && !this.#isClosed) await systemClock.sleep(20);
    if (this.#isClosed) return;
    await this.#peer.speak(port, new Int16Array(this.#peer.rateHz));
  }
}

/** An answered call. */
export class MetaCall {
  readonly parties: MetaParties;
  readonly audio: MetaAudio;
  readonly #connection: TLSSocket;
  readonly #hangUp: (connection: TLSSocket) => Promise<void>;
  readonly #hungUp = Promise.withResolvers<readonly string[]>();

  constructor(
    parties: MetaParties,
    of: { readonly audio: MetaAudio; readonly connection: TLSSocket },
    hangUp: (connection: TLSSocket) => Promise<void>,
  ) {
    this.parties = parties;
    this.audio = of.audio;
    this.#connection = of.connection;
    this.#hangUp = hangUp;
  }

  /** Resolves when the business hangs up, with the routes of its BYE. */
  get hungUp(): Promise<readonly string[]> {
    return this.#hungUp.promise;
  }

  /** A BYE of the business has arrived. */
  noteBye(routes: readonly string[]): void {
    this.audio.close();
    this.#hungUp.resolve(routes);
  }

  /** The WhatsApp user hangs up. */
  async hangUp(): Promise<void> {
    this.audio.close();
    await this.#hangUp(this.#connection);
  }

  /** The call goes on, and its connection is gone. */
  async disconnect(): Promise<void> {
    this.#connection.destroy();
    await once(this.#connection, 'close');
  }
}
