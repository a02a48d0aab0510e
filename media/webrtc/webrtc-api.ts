/**
 * The part of the WebRTC API that a leg uses (W3C webrtc-pc, and the audio source and sink of the native
 * library), as types.
 */

/** The library's entry points. */
export interface WebrtcLibrary {
  readonly RTCPeerConnection: new (options: PeerOptions) => PeerConnection;
  readonly MediaStream: new () => object;
  readonly nonstandard: {
    readonly RTCAudioSource: new () => AudioSource;
    readonly RTCAudioSink: new (track: AudioTrack) => AudioSink;
  };
}

/** Options of a connection; `portRange` is the library's own. */
interface PeerOptions {
  readonly iceServers: readonly object[];
  readonly portRange?: { readonly min: number; readonly max: number };
}

/** A connection to one browser. */
export interface PeerConnection {
  readonly connectionState: 'new' | 'connecting' | 'connected' | 'disconnected' | 'failed' | 'closed';
  readonly iceGatheringState: 'new' | 'gathering' | 'complete';
  readonly localDescription: { readonly sdp: string } | null;
  onconnectionstatechange: (() => void) | null;
  onicegatheringstatechange: (() => void) | null;
  ontrack: ((event: { readonly track: AudioTrack }) => void) | null;
  ondatachannel: ((event: { readonly channel: DataChannel }) => void) | null;
  setRemoteDescription(description: { type: 'offer'; sdp: string }): Promise<void>;
  createAnswer(): Promise<{ readonly type: 'answer'; readonly sdp: string }>;
  setLocalDescription(description: { readonly type: 'answer'; readonly sdp: string }): Promise<void>;
  addTrack(track: AudioTrack, stream: object): unknown;
  getStats(): Promise<Map<string, Readonly<Record<string, unknown>>>>;
  close(): void;
}

/** A track in either direction. */
export interface AudioTrack {
  readonly kind: string;
  stop(): void;
}

/** Ten milliseconds of 16-bit audio. */
export interface AudioBlock {
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly bitsPerSample: 16;
  readonly channelCount: number;
  readonly numberOfFrames: number;
}

/** Takes the audio we send; has no clock of its own. */
export interface AudioSource {
  createTrack(): AudioTrack;
  onData(block: AudioBlock): void;
}

/** Provides the browser's audio. */
export interface AudioSink {
  ondata: ((block: AudioBlock) => void) | null;
  stop(): void;
}

/** The data channel for events. */
export interface DataChannel {
  readonly label: string;
  readonly readyState: 'connecting' | 'open' | 'closing' | 'closed';
  readonly bufferedAmount: number;
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  send(text: string): void;
  close(): void;
}
