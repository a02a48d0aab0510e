/** The room as LiveKit's Node library exposes it; a test emits its events. */
import { EventEmitter } from 'node:events';

/** The last room that was created is `FakeRoom.last`. */
export class FakeRoom extends EventEmitter {
  static last: FakeRoom;
  readonly isConnected = false;
  readonly remoteParticipants = new Map<string, unknown>();
  readonly attributes: unknown[] = [];
  readonly localParticipant = {
    publishTrack: async () => undefined,
    setAttributes: async (attributes: unknown) => void this.attributes.push(attributes),
  };

  constructor() {
    super();
    FakeRoom.last = this;
  }

  async connect(): Promise<void> {}

  async disconnect(): Promise<void> {}
}

/** What replaces parts of the library: no native code runs. */
export const FAKE_LIBRARY = {
  Room: FakeRoom,
  AudioSource: class {},
  LocalAudioTrack: { createAudioTrack: () => ({ close: async () => undefined }) },
};

/** The caller as a participant. */
export const CALLER = { identity: 'user-1', trackPublications: new Map() };
