/** The callers of a scene: phones by sipp and baresip, and participants in rooms, with a capture of them. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type Capture, startCapture } from '#caller/capture.ts';
import { dial, type Phone } from '#test/fakes/baresip.ts';
import type { Kamailio } from '#test/fakes/kamailio.ts';
import { microphoneOf } from './conversation.ts';
import { type HeardCall, heardCalls } from './disturbances.ts';
import type { Fleet } from './fleet.ts';
import { OUTSIDE, SWITCH } from './network.ts';
import { joinRoom, type Participant } from './participants.ts';
import { type SippPhone, startSippPhone } from './sipp-phone.ts';
import { openDispatcher } from './surroundings.ts';

const RATE_HZ = 8_000;
/** Media ports of all phones: what the capture looks at. */
const PHONE_PORTS = { first: 30_000, last: 31_999 };
const SIPP_SIP_PORT = 5_070;
const PORTS_OF_A_PHONE = 20;
/** For the last greeting. */
const BEGINS_WITHIN_MS = 60_000;
const STAGGER_MS = 250;

/** How many callers, and for how long they have something to say. */
export interface CallerOptions {
  readonly phones: number;
  readonly participants: number;
  readonly seconds: number;
  readonly number: string;
  readonly agentId: string;
  /** A folder for files. */
  readonly folder: string;
  /** Of the signalling servers that serve; by default all. */
  readonly sipAddresses?: readonly string[];
}

/** Callers in their calls. */
export class Callers {
  readonly #capture: Capture;
  readonly #dispatcher: Kamailio | null;
  readonly #sipps: readonly SippPhone[];
  readonly #baresips: readonly Phone[];
  readonly #participants: readonly Participant[];

  private constructor(parts: {
    readonly capture: Capture;
    readonly dispatcher: Kamailio | null;
    readonly sipps: readonly SippPhone[];
    readonly baresips: readonly Phone[];
    readonly participants: readonly Participant[];
  }) {
    this.#capture = parts.capture;
    this.#dispatcher = parts.dispatcher;
    this.#sipps = parts.sipps;
    this.#baresips = parts.baresips;
    this.#participants = parts.participants;
  }

  /**
   * Places the calls and resolves when all are answered. Half of the phones are sipps behind the dispatcher,
   * if there is one; the others are baresips that dial the signalling servers in turn.
   */
  static async place(fleet: Fleet, options: CallerOptions): Promise<Callers> {
    const { phones, number, seconds } = options;
    const sipAddresses = options.sipAddresses ?? fleet.sipAddresses;
    const capture = await startCapture(PHONE_PORTS, SWITCH);
    const dispatcher = await openDispatcher(sipAddresses);
    const sipps: SippPhone[] = [];
    const baresips: Phone[] = [];
    for (let index = 0; index < phones; index++) {
      const rtpPort = PHONE_PORTS.first + PORTS_OF_A_PHONE * index;
      const microphone = microphoneOf(index, seconds, RATE_HZ);
      const direct = sipAddresses[(index >> 1) % sipAddresses.length];
      if (index % 2 === 0)
        sipps.push(
          startSippPhone({
            target: `sip:${number}@${dispatcher?.address ?? direct}`,
            ...{ from: `+1555100${index}`, microphone, rtpPort },
            folder: mkdtempSync(join(options.folder, 'sipp-')),
            sipPort: SIPP_SIP_PORT + index,
          }),
        );
      else {
        const network = { interface: SWITCH, address: OUTSIDE, rtpPort };
        const phone = await dial(`sip:${number}@${direct}`, microphone, {
          user: `+1555100${index}`,
          network,
        });
        baresips.push(phone);
      }
      await new Promise((done) => setTimeout(done, STAGGER_MS));
    }
    const participants: Participant[] = [];
    for (let index = 0; index < options.participants; index++) {
      const session = await fleet.ask('POST', '/v1/agent/sessions', { agent_id: options.agentId });
      participants.push(await joinRoom(session, index));
    }
    const callers = new Callers({ capture, dispatcher, sipps, baresips, participants });
    await callers.#untilActive(fleet, phones + options.participants);
    return callers;
  }

  /** All hang up. */
  async hangUp(): Promise<void> {
    await Promise.all([
      ...this.#sipps.map((phone) => phone.hangUp()),
      ...this.#baresips.map((phone) => phone.hangUp()),
      ...this.#participants.map((participant) => participant.hangUp()),
    ]);
  }

  /** What they heard, to be read once they have hung up. */
  async heard(span: {
    readonly fromMs: number;
    readonly untilMs: number;
    readonly lostAtMs: number | null;
  }): Promise<{ readonly phones: HeardCall[]; readonly participants: HeardCall[] }> {
    return {
      phones: heardCalls(await this.#capture.stop(), PHONE_PORTS, span),
      participants: this.#participants.map((participant) => participant.heard(span)),
    };
  }

  /** What sipp complained about. */
  problems(): string[] {
    return this.#sipps.flatMap((phone) => phone.problems());
  }

  async close(): Promise<void> {
    await Promise.all(this.#sipps.map((phone) => phone.close()));
    await Promise.all(this.#baresips.map((phone) => phone.close()));
    await this.#dispatcher?.close();
  }

  async #untilActive(fleet: Fleet, calls: number): Promise<void> {
    const deadlineMs = performance.now() + BEGINS_WITHIN_MS;
    for (;;) {
      const list = fleet.ask('GET', '/v1/agent/sessions?status=active&page_size=100');
      const { sessions } = await list.catch(() => ({ sessions: [] }));
      if (sessions.length >= calls) return;
      if (performance.now() > deadlineMs)
        throw new Error(`${sessions.length} of ${calls} calls were answered: ${this.problems().join('; ')}`);
      await new Promise((done) => setTimeout(done, 200));
    }
  }
}
