/**
 * One RTP leg on the media thread: a UDP socket held to the negotiated peer, a jitter buffer in, one packet
 * per 20 ms slot out, key presses both ways, and a hang-up when the far end's media stops.
 */

import { randomInt } from 'node:crypto';
import type { RemoteInfo } from 'node:dgram';
import { FRAME_MS } from '../dsp/frame.ts';
import type { LegCloseReason, LegCommand, LegStats, RestOfSent } from '../leg/leg.ts';
import { LegAudio, type MediaShared } from '../leg/leg-audio.ts';
import type { RtpLegOptions } from '../leg/leg-factory.ts';
import type { PacedLeg } from '../leg/pacer.ts';
import type { RtpRemote, SrtpKeys } from '../leg/rtp-remote.ts';
import type { OpenedLeg, TransportLeg } from '../leg/transport-leg.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';
import { CodecStreams } from './codec-stream.ts';
import { CODECS } from './codec-table.ts';
import { Latch } from './latch.ts';
import { parseRtp } from './packet.ts';
import { PeerWatch } from './peer-watch.ts';
import type { PortPool } from './port-pool.ts';
import { isRtcp } from './rtcp.ts';
import { RtcpReporter } from './rtcp-reporter.ts';
import { isAcceptable, RtpReceiver } from './rtp-receiver.ts';
import { RtpSender } from './rtp-sender.ts';
import { bindRtpSockets, type RtpSockets } from './rtp-sockets.ts';
import { SrtpReceiver, SrtpSender } from './srtp.ts';

/** A call is over after this long without media from the far end, unless we are on hold. */
const MEDIA_TIMEOUT_MS = 30_000;
/** A slot served later than this is skipped: the far end would drop packets sent in a burst. */
const MAX_SEND_LATENESS_MS = 100;
const MAX_PORT = 65_535;
/** Rate of a leg before its far end is known: that of nearly every phone. */
const UNKNOWN_RATE_HZ = 8000;

/** Options of an RTP leg beyond those of all legs. */
export interface RtpSessionOptions extends RtpLegOptions {
  readonly leg: number;
  readonly ports: PortPool;
  readonly onClosed: () => void;
}

/** Binds a socket and puts the leg on the wheel; throws `Fault('no_media_port')`. */
export async function openRtpSession(
  options: RtpSessionOptions,
  shared: MediaShared,
): Promise<{ leg: TransportLeg; opened: OpenedLeg }> {
  const sockets = await bindRtpSockets(options.localAddress, options.ports);
  const session = new RtpSession(sockets, options, shared);
  const { rateHz } = session;
  const opened = {
    inRateHz: rateHz,
    outRateHz: rateHz,
    originMs: session.originMs,
    localPort: sockets.port,
    answerSdp: null,
  };
  return { leg: session, opened };
}

class RtpSession implements TransportLeg, PacedLeg {
  readonly originMs: number;
  /** Sample rate of the leg in both directions, whatever codec is negotiated later. */
  readonly rateHz: VoiceRateHz;
  readonly #shared: MediaShared;
  readonly #sockets: RtpSockets;
  readonly #options: RtpSessionOptions;
  readonly #audio: LegAudio;
  readonly #latch: Latch;
  readonly #watch: PeerWatch;
  readonly #reporter: RtcpReporter;
  readonly #codecs: CodecStreams;
  readonly #sender: RtpSender;
  readonly #receiver: RtpReceiver;
  #remote: RtpRemote | null = null;
  /** Null while the streams are not encrypted. */
  #srtpReceiver: SrtpReceiver | null = null;
  #nextSlot = 0;
  #isConnected = false;
  #isClosed = false;
  #lastMediaMs = 0;

  constructor(sockets: RtpSockets, options: RtpSessionOptions, shared: MediaShared) {
    this.#sockets = sockets;
    this.#options = options;
    this.#shared = shared;
    this.#latch = new Latch(shared.isOwnAddress);
    this.#watch = new PeerWatch({ mayBeSilent: options.wasHeard === true });
    this.originMs = shared.pacer.add(this);
    this.#reporter = new RtcpReporter(shared.clock, randomInt(2 ** 32));
    const rateHz = options.remote ? CODECS[options.remote.codec].rateHz : UNKNOWN_RATE_HZ;
    this.rateHz = rateHz;
    const codecs = new CodecStreams(rateHz);
    const { leg, recording } = options;
    const audio = new LegAudio(
      { leg, inRateHz: rateHz, outRateHz: rateHz, originMs: this.originMs, recording },
      shared,
    );
    this.#codecs = codecs;
    this.#audio = audio;
    this.#sender = new RtpSender({
      ...{ rateHz, codecs, audio, socket: sockets.media, latch: this.#latch },
      originMs: this.originMs,
      isHeld: options.awaitsStream === true,
      onDigitsSent: (pressId) => audio.emit({ type: 'digits.sent', atMs: shared.clock.now(), pressId }),
    });
    this.#receiver = new RtpReceiver({ rateHz, codecs, audio, lastToneMs: () => this.#sender.lastToneMs });
    if (options.remote) this.#setRemote(options.remote);
    sockets.media.on('message', (datagram, from) => this.#receiveSafely(datagram, from));
    sockets.reports.on('message', (datagram, from) => this.#receiveReport(datagram, from));
    for (const socket of [sockets.media, sockets.reports]) socket.on('error', (error) => this.fail(error));
  }

  command(command: LegCommand): void {
    if (this.#isClosed || this.#audio.command(command)) return;
    if (command.do === 'sendDigits') this.#sender.press(command.digits, command.pressId ?? null);
    if (command.do === 'dropDigits') this.#sender.dropDigits();
    if (command.do === 'setRemote') {
      this.#audio.isEarly = command.isEarly === true;
      this.#setRemote(command.remote);
    }
    if (command.do === 'releaseStream' && !this.#releaseStream()) this.#end('local');
    if (command.do === 'continueStream') this.#continueStream(command.rest);
    if (command.do === 'close') this.#closeAfter(command.lingerMs ?? 0);
  }

  /** Timed here: the worker's event loop may be busy when the stream must end. */
  #closeAfter(lingerMs: number): void {
    if (lingerMs > 0) this.#shared.clock.after(lingerMs, () => this.#endLingering());
    else this.#end('local');
  }

  /** A successor that comes later than this still goes on with the stream, after a pause. */
  #endLingering(): void {
    if (!this.#isClosed) this.#releaseStream(0);
    this.#end('local');
  }

  close(): Promise<void> {
    this.#end('local');
    return Promise.resolve();
  }

  tick(slot: number, dueMs: number): void {
    const remote = this.#remote;
    this.#nextSlot = slot + 1;
    if (this.#isClosed || !remote) return;
    const nowMs = this.#shared.clock.now();
    const kind = this.#receiver.pull(remote, dueMs, nowMs);
    const isInTime = nowMs - dueMs <= MAX_SEND_LATENESS_MS;
    this.#sender.send(slot, dueMs, isInTime && nowMs < this.#shared.speech.untilMs, remote);
    this.#audio.endSlot(slot, dueMs, kind, this.#receiver.lagMs);
    if (this.#reporter.isDue(slot) && this.#sender.isSending(dueMs)) this.#sendReport(slot, remote);
    if (remote.sending && !this.#audio.isEarly) this.#watchForPeer(nowMs);
    if (remote.sending && nowMs - this.#lastMediaMs > MEDIA_TIMEOUT_MS) this.#end('media_timeout');
    // Its successor records by now.
    if (this.#sender.isOver(dueMs + FRAME_MS)) this.#end('local');
  }

  /** Gives the stream up after so many more packets, the usual ones by default; false if there is none. */
  #releaseStream(morePackets?: number): boolean {
    const packets = this.#remote && this.#sender.release(this.#nextSlot, this.#remote, morePackets);
    const rest = packets && { ...packets, cname: this.#reporter.cname };
    this.#audio.emit({ type: 'stream.released', atMs: this.#shared.clock.now(), rest });
    return rest !== null;
  }

  #continueStream(rest: RestOfSent | null): void {
    if (!this.#remote) return;
    const goesOn = this.#sender.continueStream(rest, this.#remote, this.#shared.clock.now());
    if (rest && goesOn) this.#reporter.cname = rest.cname;
  }

  /** Reports while the call runs, so that its page can say why nothing is heard. */
  #watchForPeer(nowMs: number): void {
    const warning = this.#watch.check(nowMs);
    if (warning === null) return;
    this.#shared.log('warn', warning);
    this.#reportMedia(nowMs);
  }

  #reportMedia(nowMs: number): void {
    this.#audio.emit({ type: 'media', atMs: nowMs, stats: this.#stats() });
  }

  fail(error: unknown): void {
    this.#shared.log('error', 'an RTP leg failed and is closed', error);
    this.#end('failed');
  }

  #setRemote(remote: RtpRemote): void {
    if (this.#remote?.codec !== remote.codec || this.#remote.digitPayloadType !== remote.digitPayloadType)
      this.#renegotiate(remote);
    this.#codecs.limitBitRate(remote.maxBitRate ?? null);
    this.#setKeys(this.#remote?.srtp, remote.srtp);
    const hasPort = Number.isInteger(remote.port) && remote.port > 0 && remote.port <= MAX_PORT;
    // Port 0: the far end refuses the stream (RFC 3264 §6), so nothing can be sent.
    this.#remote = hasPort ? remote : { ...remote, sending: false };
    this.#receiver.setRemote(this.#remote);
    this.#latch.negotiate(remote);
    this.#lastMediaMs = this.#shared.clock.now();
    this.#watch.negotiate(this.#remote, this.#lastMediaMs);
  }

  /** An unchanged key keeps its place in the stream (RFC 3711 §3.2.1). */
  #setKeys(before: SrtpKeys | undefined, keys: SrtpKeys | undefined): void {
    if (before?.sendKey !== keys?.sendKey || before?.suite !== keys?.suite)
      this.#sender.srtp = keys ? new SrtpSender(keys.suite, keys.sendKey) : null;
    if (before?.receiveKey !== keys?.receiveKey || before?.suite !== keys?.suite)
      this.#srtpReceiver = keys ? new SrtpReceiver(keys) : null;
  }

  #renegotiate(remote: RtpRemote): void {
    const before = this.#remote;
    this.#codecs.clear();
    if (before && CODECS[before.codec].clockHz !== CODECS[remote.codec].clockHz) this.#sender.renewSource();
    this.#receiver.startStream(remote);
  }

  #receiveSafely(datagram: Uint8Array, from: RemoteInfo): void {
    try {
      this.#receive(datagram, from);
    } catch (error) {
      this.fail(error);
    }
  }

  #receive(datagram: Uint8Array, from: RemoteInfo): void {
    if (isRtcp(datagram)) {
      this.#receiveReport(datagram, from);
      return;
    }
    const remote = this.#remote;
    if (this.#isClosed || !remote) return;
    const plain = this.#srtpReceiver ? this.#srtpReceiver.open(datagram) : datagram;
    const packet = plain && parseRtp(plain);
    if (!packet || !isAcceptable(packet, remote)) {
      if (this.#latch.mayAccept(from.address)) this.#watch.countUnreadable();
      return;
    }
    const nowMs = this.#shared.clock.now();
    if (!this.#latch.accepts(from, packet.ssrc, nowMs)) {
      if (!this.#latch.mayAccept(from.address)) this.#watch.refuse(from.address);
      return;
    }
    this.#lastMediaMs = nowMs;
    if (!this.#isConnected) this.#audio.emit({ type: 'connected', atMs: nowMs });
    this.#isConnected = true;
    this.#receiver.receive(packet, remote, nowMs);
    if (this.#watch.hear()) this.#reportMedia(nowMs);
  }

  /** Accepts reports from the media's source address only. */
  #receiveReport(datagram: Uint8Array, from: RemoteInfo): void {
    if (this.#isClosed || from.address !== this.#latch.target?.address) return;
    const plain = this.#srtpReceiver ? this.#srtpReceiver.openReport(datagram) : datagram;
    if (plain) this.#reporter.receive(plain, this.#sender.ssrc);
  }

  #sendReport(slot: number, remote: RtpRemote): void {
    const target = this.#latch.target;
    const isMuxed = remote.isRtcpMuxed === true;
    const port = (target?.port ?? 0) + (isMuxed ? 0 : 1);
    if (!target || !remote.sending || port > MAX_PORT) return;
    const { ssrc, packetsSent, bytesSent, srtp } = this.#sender;
    const sent = {
      wallMs: this.#shared.clock.wallTime(),
      timestamp: this.#sender.timestampOf(slot, remote),
      packets: packetsSent,
      bytes: bytesSent,
    };
    const report = this.#reporter.write(
      { ssrc, sent: packetsSent > 0 ? sent : null },
      this.#receiver.reception(CODECS[remote.codec].clockHz),
    );
    const socket = isMuxed ? this.#sockets.media : this.#sockets.reports;
    socket.send(srtp?.protectReport(report) ?? report, port, target.address, () => undefined);
  }

  #stats(): LegStats {
    const { unheard } = this.#watch;
    return {
      ...this.#receiver.quality(this.#reporter.roundTripMs),
      packetsSent: this.#sender.packetsSent,
      ...(unheard && { unheard }),
    };
  }

  #end(reason: LegCloseReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#shared.pacer.remove(this);
    this.#audio.close();
    this.#audio.emit({ type: 'closed', atMs: this.#shared.clock.now(), reason, stats: this.#stats() });
    const { media, reports, port } = this.#sockets;
    reports.close(() => media.close(() => this.#options.ports.release(port)));
    this.#options.onClosed();
  }
}
