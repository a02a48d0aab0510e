/** The room as LiveKit's Node library exposes it; a test emits its events. */
import { EventEmitter } from 'node:events';

class FakeRpcError extends Error {
  static readonly ErrorCode = { UNSUPPORTED_METHOD: 1400, CONNECTION_TIMEOUT: 1501 };

  readonly code: number;

  constructor(code: number) {
    super();
    this.code = code;
  }
}

/** The last room that was created is `FakeRoom.last`. */
export class FakeRoom extends EventEmitter {
  static last: FakeRoom;
  isConnected = false;
  readonly remoteParticipants = new Map<string, unknown>();
  readonly attributes: unknown[] = [];
  /** Whether calls reach the participant, whose client refuses a method that it does not know. */
  isReached = true;
  isReconnecting = false;
  readonly localParticipant = {
    publishTrack: async () => undefined,
    setAttributes: async (attributes: unknown) => void this.attributes.push(attributes),
    performRpc: async () => {
      throw new FakeRpcError(
        FakeRpcError.ErrorCode[this.isReached ? 'UNSUPPORTED_METHOD' : 'CONNECTION_TIMEOUT'],
      );
    },
  };

  constructor() {
    super();
    FakeRoom.last = this;
  }

  async connect(): Promise<void> {
    this.isConnected = true;
  }

  async disconnect(): Promise<void> {
    this.isConnected = false;
  }

  /** Statistics do not come while the connection is lost. */
  getRtcStats(): Promise<{ publisherStats: never[]; subscriberStats: never[] }> {
    if (this.isReconnecting) return new Promise(() => undefined);
    return Promise.resolve({ publisherStats: [], subscriberStats: [] });
  }
}

/** What replaces parts of the library: no native code runs. */
export const FAKE_LIBRARY = {
  Room: FakeRoom,
  RpcError: FakeRpcError,
  AudioSource: class {},
  LocalAudioTrack: { createAudioTrack: () => ({ close: async () => undefined }) },
};

/** The caller as a participant. */
export const CALLER = { identity: 'user-1', trackPublications: new Map() };
