/** The microphone of a conversation: opening, muting, switching and releasing it. */
import { SessionError } from './events.ts';

const PROCESSING = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };

/** An open microphone. */
export class Microphone {
  #stream: MediaStream;
  #isMuted = false;

  private constructor(stream: MediaStream) {
    this.#stream = stream;
  }

  /**
   * Requests the microphone; without an id, the default device. Throws `SessionError`
   * `mic_permission_denied`.
   */
  static async open(deviceId?: string): Promise<Microphone> {
    try {
      return new Microphone(await capture(deviceId));
    } catch (error) {
      throw new SessionError('mic_permission_denied', whyNoMicrophone(error), null, { cause: error });
    }
  }

  get stream(): MediaStream {
    return this.#stream;
  }

  get isMuted(): boolean {
    return this.#isMuted;
  }

  mute(isMuted: boolean): void {
    this.#isMuted = isMuted;
    for (const track of this.#stream.getAudioTracks()) track.enabled = !isMuted;
  }

  /**
   * Switches to another device once `use` has accepted its stream, then releases the previous one. If `use`
   * rejects, rejects with its error and keeps the previous device.
   */
  async change(deviceId: string, use: (stream: MediaStream) => Promise<void>): Promise<void> {
    const next = await capture(deviceId);
    for (const track of next.getAudioTracks()) track.enabled = !this.#isMuted;
    try {
      await use(next);
    } catch (error) {
      stop(next);
      throw error;
    }
    stop(this.#stream);
    this.#stream = next;
  }

  close(): void {
    stop(this.#stream);
  }
}

function capture(deviceId: string | undefined): Promise<MediaStream> {
  return navigator.mediaDevices.getUserMedia({
    audio: { ...PROCESSING, ...(deviceId === undefined ? {} : { deviceId: { exact: deviceId } }) },
  });
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

/** Maps the browser's error names to messages (W3C mediacapture-streams, getUserMedia). */
function whyNoMicrophone(error: unknown): string {
  if (!isSecureContext)
    return 'Browsers allow no microphone on pages without https; serve the page over TLS, or type instead';
  const { name } = (error ?? {}) as { readonly name?: string };
  if (name === 'NotFoundError' || name === 'OverconstrainedError')
    return 'No microphone was found; connect one and start again, or type instead';
  if (name === 'NotReadableError')
    return 'Another program is using the microphone; close it and start again, or type instead';
  return 'The microphone is blocked; allow it for this page in your browser and start again, or type instead';
}
