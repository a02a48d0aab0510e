/** A direct WebRTC connection to the agent: offer and answer over HTTP, messages on the data channel `events` (running.md, "Direct WebRTC"). */
import type { ClientEvent } from '../../config/session-events.ts';
import { SessionError } from './events.ts';
import { JOIN_MS, LINGER_MS, type Transport, type TransportListener } from './transport.ts';
import { type DirectGrant, exchangeOffer, formatClientEvent, parseAgentEvent } from './wire.ts';

const GATHER_MS = 2_000;

/** Makes a connection that is not open yet. */
export function createDirectTransport(grant: DirectGrant, listener: TransportListener): Transport {
  return new DirectTransport(grant, listener);
}

class DirectTransport implements Transport {
  readonly room = null;
  readonly #grant: DirectGrant;
  readonly #listener: TransportListener;
  readonly #connection: RTCPeerConnection;
  readonly #channel: RTCDataChannel;

  constructor(grant: DirectGrant, listener: TransportListener) {
    this.#grant = grant;
    this.#listener = listener;
    this.#connection = new RTCPeerConnection({ iceServers: grant.ice_servers ?? [] });
    this.#channel = this.#connection.createDataChannel('events', { ordered: true });
  }

  async connect(microphone: MediaStream | null): Promise<void> {
    if (microphone) for (const track of microphone.getAudioTracks()) this.#connection.addTrack(track, microphone);
    else this.#connection.addTransceiver('audio', { direction: 'recvonly' });
    this.#connection.addEventListener('track', (event) => this.#listener.onVoice(event.streams[0] ?? new MediaStream([event.track])));
    this.#connection.addEventListener('connectionstatechange', () => this.#follow());
    this.#channel.addEventListener('message', (message) => {
      const event = parseAgentEvent(message.data);
      if (event) this.#listener.onEvent(event);
    });
    await this.#connection.setLocalDescription(await this.#connection.createOffer());
    await gathered(this.#connection);
    await this.#connection.setRemoteDescription(await exchangeOffer(this.#grant, this.#connection.localDescription?.sdp ?? ''));
    await this.#joined();
  }

  send(event: ClientEvent): void {
    if (this.#channel.readyState === 'open') this.#channel.send(formatClientEvent(event));
  }

  close(): void {
    setTimeout(() => this.#connection.close(), LINGER_MS);
  }

  #joined(): Promise<void> {
    if (this.#channel.readyState === 'open') return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new SessionError('connection_failed', 'The agent could not be reached in time')), JOIN_MS);
      this.#channel.addEventListener('open', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #follow(): void {
    const state = this.#connection.connectionState;
    if (state === 'disconnected' || state === 'connected') this.#listener.onReconnecting(state === 'disconnected');
    else if (state === 'failed' || state === 'closed') this.#listener.onLost();
  }
}

/** Waits until every candidate is in the offer: the server takes it whole. */
function gathered(connection: RTCPeerConnection): Promise<void> {
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
