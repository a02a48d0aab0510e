/**
 * Keys as SIP INFO (`application/dtmf-relay`), for a peer that takes no telephone events and says that it
 * takes INFO. A peer that refuses the first one gets tones instead.
 */
import type { Clock } from '#base/clock.ts';
import { pressesOf } from '#config/telephone-keys.ts';
import type { Leg, LegCommand, LegEvent } from '#media/leg/leg.ts';
import { readRemote } from './sdp.ts';
import type { SipDialog } from './signalling.ts';

/** How long each key is said to be held, and the time until the next one, ms. */
const PRESS_MS = 100;
const NEXT_MS = 200;

/** Dependencies of sending keys. */
export interface InfoKeysParts {
  readonly clock: Clock;
  readonly dialog: Pick<SipDialog, 'facts' | 'sendInfo' | 'takesInfo'>;
  readonly emit: (events: readonly LegEvent[]) => void;
  /** Sends keys by the audio: as events or tones. */
  readonly rtp: Pick<Leg, 'send'>;
}

type Presses = Extract<LegCommand, { do: 'sendDigits' }>;

/** The keys of one call. */
export class InfoKeys {
  readonly #parts: InfoKeysParts;
  #dropping = new AbortController();
  #before: Promise<void> = Promise.resolve();
  #hasEvents: boolean;
  #isRefused = false;

  constructor(parts: InfoKeysParts) {
    this.#parts = parts;
    this.#hasEvents = takesEvents(parts.dialog.facts.remoteSdp);
  }

  /** Passes a command to the RTP leg, unless it is for keys that are sent here. */
  send(command: LegCommand): void {
    const { dialog, rtp } = this.#parts;
    if (command.do === 'setRemote') this.#hasEvents = command.remote.digitPayloadType !== null;
    if (command.do === 'dropDigits') this.#drop();
    if (command.do !== 'sendDigits' || this.#hasEvents || this.#isRefused || !dialog.takesInfo) {
      rtp.send(command);
      return;
    }
    const { signal } = this.#dropping;
    // After those before them. They reject when they are dropped.
    this.#before = this.#before.then(() => this.#press(command, signal)).catch(() => undefined);
  }

  #drop(): void {
    this.#dropping.abort();
    this.#dropping = new AbortController();
  }

  async #press({ digits, pressId }: Presses, signal: AbortSignal): Promise<void> {
    const { clock, emit, rtp } = this.#parts;
    const characters = [...digits];
    for (const [index, character] of characters.entries()) {
      signal.throwIfAborted();
      const sent = await this.#sendOne(character, signal);
      if (sent === 'refused') {
        signal.throwIfAborted();
        const rest = characters.slice(index).join('');
        rtp.send({ do: 'sendDigits', digits: rest, ...(pressId !== undefined && { pressId }) });
      }
      if (sent !== 'sent') return;
    }
    if (pressId !== undefined) emit([{ type: 'digits.sent', atMs: clock.now(), pressId }]);
  }

  /** `unknown`: nobody knows whether the key arrived, and twice would be another choice. */
  async #sendOne(character: string, signal: AbortSignal): Promise<'sent' | 'refused' | 'unknown'> {
    const { clock, dialog } = this.#parts;
    const [press] = pressesOf(character);
    if (press && 'pauseMs' in press) await clock.sleep(press.pauseMs, signal);
    if (!press || 'pauseMs' in press) return 'sent';
    if (this.#isRefused) return 'refused';
    const body = `Signal=${press.key}\r\nDuration=${PRESS_MS}\r\n`;
    const status = await dialog.sendInfo('application/dtmf-relay', body);
    this.#isRefused = isRefusal(status);
    if (this.#isRefused) return 'refused';
    if (status < 200 || status >= 300) return 'unknown';
    await clock.sleep(NEXT_MS, signal);
    return 'sent';
  }
}

/** A refusal of INFO, or of its body; no answer and an overload are none. */
function isRefusal(status: number): boolean {
  return status >= 400 && ![408, 480, 481, 503].includes(status);
}

/** Whether a peer takes telephone events; true if its description cannot be read. */
function takesEvents(sdp: string): boolean {
  try {
    return readRemote(sdp, { srtpKey: '' }).digitPayloadType !== null;
  } catch {
    return true;
  }
}
