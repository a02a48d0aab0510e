/**
 * A direct WebRTC connection to the agent: offer and answer over HTTP, messages on the data channel `events`.
 * If the connection breaks or no more packets arrive, it offers a new one with the same token until the
 * server reports that the session is over.
 */
import type { ClientEvent } from '../../protocol/session-events.ts';
import { SessionError } from './events.ts';
import { JOIN_MS, LINGER_MS, type Transport, type TransportListener, WAITING } from './transport.ts';
import { type DirectGrant, exchangeOffer, formatClientEvent, parseAgentEvent } from './wire.ts';

const GATHER_MS = 2_000;
/** A disconnected connection gets this long to recover by itself. */
const STUMBLE_MS = 1_000;
const BETWEEN_ATTEMPTS_MS = 500;
/**
 * The agent sends a packet every 20 ms, also during silence. Without packets for this long, the sender is
 * gone; ICE would detect this seconds later.
 */
const UNHEARD_MS = 2_000;
const LISTEN_EVERY_MS = 250;
/** Time to restore a broken connection before giving up. */
const MEND_MS = 60_000;

const MAX_UNSENT = 256;

/** Creates a transport; its connection is not open yet. */
export function createDirectTransport(grant: DirectGrant, listener: TransportListener): Transport {
  return new DirectTransport(grant, listener);
}

interface Link {
  readonly connection: RTCPeerConnection;
  readonly channel: RTCDataChannel;
  /** Packets of the agent's voice so far, and when the count last grew. */
  packets: number;
  heardMs: number;
}

class DirectTransport implements Transport {
  readonly room = null;
  readonly #grant: DirectGrant;
  readonly #listener: TransportListener;
  #microphone: MediaStream | null = null;
  #link: Link | null = null;
  /**
   * While a connection is being opened, its events are ignored: the code that opens it handles the outcome.
   */
  #isOpening = false;
  /** Messages sent while the connection was broken, kept for the next one. */
  #unsent: ClientEvent[] = [];
  #isClosed = false;

  constructor(grant: DirectGrant, listener: TransportListener) {
    this.#grant = grant;
    this.#listener = listener;
  }

  async connect(microphone: MediaStream | null): Promise<void> {
    this.#microphone = microphone;
    this.#isOpening = true;
    await this.#open();
    this.#isOpening = false;
  }

  async setMicrophone(microphone: MediaStream): Promise<void> {
    const sender = this.#link?.connection.getSenders().find(({ track }) => track?.kind === 'audio');
    const [track] = microphone.getAudioTracks();
    if (!sender || !track) throw new Error('No microphone audio is sent');
    await sender.replaceTrack(track);
    this.#microphone = microphone;
  }

  send(event: ClientEvent): void {
    if (this.#isOpening && WAITING.has(event.type)) {
      if (this.#unsent.length < MAX_UNSENT) this.#unsent.push(event);
    } else if (this.#link?.channel.readyState === 'open') this.#link.channel.send(formatClientEvent(event));
  }

  close(): void {
    this.#isClosed = true;
    const connection = this.#link?.connection;
    setTimeout(() => connection?.close(), LINGER_MS);
  }

  /**
   * Opens a connection that replaces the previous one. The previous one is closed only afterwards, because
   * the server would treat its closing as a hang-up. Throws `SessionError`.
   */
  async #open(): Promise<void> {
    const connection = new RTCPeerConnection({ iceServers: this.#grant.ice_servers ?? [] });
    const link = {
      connection,
      channel: connection.createDataChannel('events', { ordered: true }),
      packets: 0,
      heardMs: performance.now(),
    };
    try {
      this.#join(link);
      await connection.setLocalDescription(await connection.createOffer());
      await waitForCandidates(connection);
      await connection.setRemoteDescription(
        await exchangeOffer(this.#grant, connection.localDescription?.sdp ?? ''),
      );
      await waitForOpen(link.channel);
    } catch (error) {
      connection.close();
      throw error;
    }
    this.#link?.connection.close();
    this.#link = link;
    if (this.#isClosed) connection.close();
    else this.#listenFor(link);
  }

  #join({ connection, channel }: Link): void {
    if (this.#microphone)
      for (const track of this.#microphone.getAudioTracks()) connection.addTrack(track, this.#microphone);
    else connection.addTransceiver('audio', { direction: 'recvonly' });
    connection.addEventListener('track', (event) =>
      this.#listener.onVoice(event.streams[0] ?? new MediaStream([event.track])),
    );
    connection.addEventListener('connectionstatechange', () => this.#follow(connection));
    channel.addEventListener('message', (message) => {
      const event = parseAgentEvent(message.data);
      if (event?.type === 'session.moved') this.#follow(connection, true);
      else if (event) this.#listener.onEvent(event);
    });
    // The server closed the channel properly: the session is over or continues on another client's
    // connection.
    channel.addEventListener('close', () => {
      if (this.#isInUse(connection)) this.#listener.onLost();
    });
  }

  #isInUse(connection: RTCPeerConnection): boolean {
    return !this.#isClosed && !this.#isOpening && connection === this.#link?.connection;
  }

  /** Restores a broken connection; `hasMoved`: the session is with another worker. */
  #follow(connection: RTCPeerConnection, hasMoved = false): void {
    const isBroken = connection.connectionState === 'disconnected' || connection.connectionState === 'failed';
    if ((isBroken || hasMoved) && this.#isInUse(connection) && this.#link)
      void this.#mend(this.#link, hasMoved);
  }

  /** Counts incoming packets while this link is in use, and restores the connection when none arrive. */
  #listenFor(link: Link): void {
    link.heardMs = performance.now();
    const timer = setInterval(async () => {
      if (this.#isClosed || this.#link !== link) {
        clearInterval(timer);
        return;
      }
      const packets = await packetsReceived(link.connection);
      if (packets !== link.packets) link.heardMs = performance.now();
      link.packets = packets;
      const isUnheard = performance.now() - link.heardMs > UNHEARD_MS;
      if (isUnheard && this.#isInUse(link.connection)) void this.#mend(link);
    }, LISTEN_EVERY_MS);
  }

  async #mend(broken: Link, hasMoved = false): Promise<void> {
    this.#isOpening = true;
    this.#listener.onReconnecting(true);
    const isMended = await this.#isWholeAgain(broken, hasMoved);
    this.#isOpening = false;
    if (this.#isClosed) return;
    if (isMended) {
      for (const event of this.#unsent.splice(0)) this.send(event);
      this.#listener.onReconnecting(false);
    } else this.#listener.onLost();
  }

  /** Opens a new connection, unless the broken one recovers first, which one that has moved does not. */
  async #isWholeAgain(broken: Link, hasMoved: boolean): Promise<boolean> {
    const brokenMs = performance.now();
    if (broken.connection.connectionState === 'disconnected') await pause(STUMBLE_MS);
    while (!this.#isClosed && performance.now() < brokenMs + MEND_MS) {
      const isHeard = broken.connection.connectionState === 'connected' && broken.heardMs > brokenMs;
      if (isHeard && !hasMoved) return true;
      try {
        await this.#open();
        return true;
      } catch (error) {
        if (error instanceof SessionError && error.code === 'session_expired') return false;
        await pause(BETWEEN_ATTEMPTS_MS);
      }
    }
    return false;
  }
}

/** Number of packets of the agent's voice received so far. */
async function packetsReceived(connection: RTCPeerConnection): Promise<number> {
  let packets = 0;
  for (const entry of (await connection.getStats()).values())
    if (entry.type === 'inbound-rtp' && entry.kind === 'audio') packets += entry.packetsReceived;
  return packets;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function waitForOpen(channel: RTCDataChannel): Promise<void> {
  if (channel.readyState === 'open') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new SessionError('connection_failed', 'The agent could not be reached in time')),
      JOIN_MS,
    );
    channel.addEventListener('open', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Waits until the offer contains all candidates: the server takes a complete offer only. */
function waitForCandidates(connection: RTCPeerConnection): Promise<void> {
  if (connection.iceGatheringState === 'complete') return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GATHER_MS);
    connection.addEventListener('icegatheringstatechange', () => {
      if (connection.iceGatheringState !== 'complete') return;
      clearTimeout(timer);
      resolve();
    });
  });
}
