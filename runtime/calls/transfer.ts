/**
 * Carries out one transfer. Cold: the carrier is asked to take the caller (REFER); if it refuses, the worker
 * dials and joins both itself. Warm: the person is called and briefed while the caller hears music, and
 * joined when they agree. Progress is reported as facts for the turn machine.
 */

import type { Clock } from '#base/clock.ts';
import { EgressRefused } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan, TransferRoute } from '#protocol/call-plan.ts';
import type { PhonePlace } from '#protocol/phone-places.ts';
import type { OutboundCall, OutboundCallRequest, PlaceCall } from '#telephony/outbound-call.ts';
import { type DialogFacts, InviteRefused, type SipDialog } from '#telephony/signalling.ts';
import { type ReferOutcome, referCall } from '#telephony/transfer.ts';
import { nameless, type Within } from '../event-loop/session-attribution.ts';
import type { TurnFact } from '../turn/machine/turn-inputs.ts';
import { Consult, type ConsultOutcome } from './consult.ts';
import { consultPhrases } from './consult-phrases.ts';
import { dialLine } from './dial-line.ts';
import { ExtensionPress } from './extension-press.ts';
import { JoinedTalk } from './joined-talk.ts';
import { type PhoneRing, ringPlaces } from './ring-phones.ts';

/** The dialog behind a phone call's leg. */
export interface PhoneLine {
  readonly dialog: DialogFacts;
  readonly refer: SipDialog['refer'];
}

/** The person who answered. */
type Person = Extract<OutboundCall, { outcome: 'answered' }>;

/** Dependencies of a transfer. */
export interface TransferDeps {
  readonly plan: CallPlan;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly caller: Leg;
  readonly line: PhoneLine | null;
  readonly placeCall: PlaceCall | null;
  /** Checked first where the plan counts transfers; null without such a check. Never rejects. */
  readonly mayTransfer: (() => Promise<boolean>) | null;
  /** Where the phones of an extension are registered; null if that cannot be known. Never rejects. */
  readonly findPhones: ((extension: string) => Promise<readonly PhonePlace[] | null>) | null;
  readonly recognizer: Recognizer | null;
  readonly synthesizer: Synthesizer;
  /** Index of the destination. */
  readonly destination: number;
  /** Briefing for the person called. */
  readonly notes: string;
  readonly tell: (fact: Extract<TurnFact, { type: `transfer.${string}` }>) => void;
  /**
   * The person answered, was joined, or has another SIP server; null if they left before being joined.
   */
  readonly onPerson: (person: { readonly dialog: DialogFacts; readonly isJoined: boolean } | null) => void;
  /** A segment of the person's audio once they are joined. */
  readonly onRecording: (event: Extract<LegEvent, { type: 'recording' }>) => void;
  /** Runs its work under the call's name. */
  readonly within?: Within | undefined;
}

/** A transfer in progress. */
export interface Transfer {
  /**
   * The caller left or the call ends: the person called is informed or hung up on. Resolves when no more
   * recording follows.
   */
  stop(): Promise<void>;
  /** Another worker has the call: nobody is informed or hung up on. A person still ringing is cancelled. */
  abandon(): void;
  /** Forwards a key the caller pressed, once they are joined. */
  press(digit: string): void;
}

/** Longest ringing of the person called. */
const RING_MS = 30_000;
const INTERNAL = 'The transfer failed because of an internal error.';

/** Starts a transfer. Reports nothing after its final fact. */
export function startTransfer(deps: TransferDeps): Transfer {
  return new RunningTransfer(deps);
}

type Destination = AgentConfig['conversation']['transfer_destinations'][number];

class RunningTransfer implements Transfer {
  readonly #deps: TransferDeps;
  readonly #abort = new AbortController();
  /** The person, from their answer until they are joined or gone. */
  #human: Leg | null = null;
  #extension: ExtensionPress | null = null;
  #consult: Consult | null = null;
  #talk: JoinedTalk | null = null;
  /** As last reported. */
  #person: Parameters<TransferDeps['onPerson']>[0] = null;

  constructor(deps: TransferDeps) {
    this.#deps = deps;
    const destination = deps.plan.config.conversation.transfer_destinations[deps.destination];
    const route = deps.plan.transfer?.routes[deps.destination];
    const work =
      destination && route ? this.#run(destination, route) : Promise.reject(new Error('no such destination'));
    work.catch((error: unknown) => {
      deps.logger.error({ err: error }, 'transfer failed');
      this.#hangUpHuman();
      this.#failed(INTERNAL);
    });
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#deps.caller.send({ do: 'holdMusic', isOn: false });
    if (this.#talk) await this.#talk.stop();
    else this.#consult?.take({ is: 'caller_gone' });
  }

  abandon(): void {
    this.#abort.abort();
    this.#human?.send({ do: 'close', keepsDialog: true });
    this.#talk?.abandon();
  }

  press(digit: string): void {
    this.#talk?.press(digit);
  }

  async #run(destination: Destination, route: TransferRoute): Promise<void> {
    const { mode } = destination;
    const { logger, mayTransfer, plan } = this.#deps;
    // A phone that is registered here costs nothing.
    const isCounted = plan.transfer?.is_counted && route.phone_extension === undefined;
    if (isCounted && mayTransfer && !(await mayTransfer())) {
      logger.warn(
        { label: destination.label },
        'not transferred: too many calls of the account in this minute',
      );
      return this.#failed('Too many people were called in this minute; nobody can be called now.');
    }
    if (this.#abort.signal.aborted) return;
    logger.info({ mode, label: destination.label }, 'transferring');
    if (mode === 'warm') await this.#warm(destination, route);
    else await this.#cold(route);
  }

  async #cold(route: TransferRoute): Promise<void> {
    const referred = await this.#refer(route);
    if (referred.is === 'transferred') this.#tell({ type: 'transfer.finished', isDone: true, message: '' });
    else if (referred.is === 'failed') this.#failed(unreached(referred.status));
    else if (this.#abort.signal.aborted) return;
    else if (!isCallable(route)) this.#failed('The carrier refused the transfer.');
    else {
      const person = await this.#dial(route);
      if (person) this.#join(person);
    }
  }

  /**
   * Asks the carrier by REFER. Without a dialog, or where the carrier must not be asked, this counts as a
   * refusal.
   */
  async #refer(route: TransferRoute): Promise<ReferOutcome> {
    const { clock, line, logger } = this.#deps;
    if (!line || !route.is_referable) return { is: 'refused', status: 0 };
    const target = route.dial_uri || `sip:${route.number}@${hostOf(line.dialog.remoteTarget)}`;
    const outcome = await referCall(
      { clock, refer: line.refer },
      { target, headers: route.headers, credentials: credentialsOf(route) },
    );
    logger.info({ outcome }, 'referred');
    return outcome;
  }

  async #warm(destination: Destination, route: TransferRoute): Promise<void> {
    const confirms = destination.warm_connect === 'confirm';
    const { recognizer } = this.#deps;
    if (!isCallable(route))
      return this.#failed('This number cannot place calls, so nobody can be asked first.');
    if (confirms && !recognizer)
      return this.#failed('Speech recognition is not available, so nobody can be asked first.');
    const person = await this.#dial(route);
    if (!person) return;
    const outcome = recognizer ? await this.#confer(destination, { leg: person.leg, recognizer }) : 'yes';
    if (outcome === 'yes' && !this.#abort.signal.aborted) {
      this.#join(person);
      return;
    }
    this.#hangUpHuman();
    this.#failed(DECLINED[outcome]);
  }

  /**
   * Calls the person while the caller hears music. Null when they could not be reached, which has been
   * reported by then.
   */
  async #dial(route: TransferRoute): Promise<Person | null> {
    const { caller, placeCall, plan } = this.#deps;
    if (!placeCall) {
      this.#failed('Calls cannot be placed here.');
      return null;
    }
    caller.send({ do: 'holdMusic', isOn: true });
    const request: OutboundCallRequest = {
      toUri: route.dial_uri,
      guard: route.guard,
      fromNumber: plan.transfer?.from_number ?? '',
      line: dialLine(route.line),
      headers: route.headers,
      credentials: credentialsOf(route),
      recording: plan.record_audio ? { firstSegment: 0, of: 'human' } : null,
      ringMs: RING_MS,
    };
    const { phone_extension: phones } = route;
    const result =
      phones === undefined
        ? await placeCall(request, this.#abort.signal)
        : await this.#ring(phones, { placeCall, request });
    if (result === null) return null;
    if (result.outcome !== 'answered') {
      this.#failed(notAnswered(result));
      return null;
    }
    this.#human = result.leg;
    this.#report({ dialog: result.dialog, isJoined: false });
    result.onMoved((dialog) => {
      if (this.#person) this.#report({ ...this.#person, dialog });
    });
    const { within = nameless } = this.#deps;
    result.leg.listen((events) =>
      within(() => {
        for (const event of events) this.#onHumanEvent(event);
      }),
    );
    await this.#dialExtension(result.leg, route);
    if (this.#human && !this.#abort.signal.aborted) return result;
    this.#hangUpHuman();
    this.#failed(DECLINED.hung_up);
    return null;
  }

  /** Rings the phones of an extension. Null if none is registered, which has been reported by then. */
  async #ring(extension: string, how: Omit<PhoneRing, 'places'>): Promise<OutboundCall | null> {
    const places = (await this.#deps.findPhones?.(extension)) ?? null;
    if (this.#abort.signal.aborted) return { outcome: 'cancelled' };
    if (places !== null && places.length > 0) return ringPlaces({ places, ...how }, this.#abort.signal);
    this.#failed(
      places === null
        ? 'The phone could not be looked for now.'
        : `No phone with the extension ${extension} is switched on and registered now.`,
    );
    return null;
  }

  async #dialExtension(leg: Leg, { extension }: TransferRoute): Promise<void> {
    const { signal } = this.#abort;
    if (extension === undefined || signal.aborted || !this.#human) return;
    this.#extension = new ExtensionPress({ clock: this.#deps.clock, leg, signal }, extension);
    await this.#extension.over;
  }

  async #confer(
    destination: Destination,
    { leg, recognizer }: { readonly leg: Leg; readonly recognizer: Recognizer },
  ): Promise<ConsultOutcome> {
    const { clock, notes, plan, synthesizer, within } = this.#deps;
    const { voice } = plan.config;
    const phrases = consultPhrases(voice.speaking_language);
    const confirms = destination.warm_connect === 'confirm';
    this.#consult = new Consult({
      clock,
      leg,
      rules: { confirms, phrases },
      // Where the destination has instructions of its own, the model has written its notes by them, and they
      // replace the introduction.
      briefing: [
        destination.warm_briefing_instructions === '' || notes === '' ? introduction(plan) : '',
        notes,
        confirms ? phrases.question : '',
      ]
        .filter((part) => part !== '')
        .join(' '),
      synthesizer,
      voice: {
        voiceId: voice.voice_id === '' || voice.voice_id === 'default' ? null : voice.voice_id,
        language: voice.speaking_language,
        speed: voice.speed,
      },
      recognizer,
      within,
    });
    return this.#consult.outcome;
  }

  #join(person: Person): void {
    const { caller, onRecording } = this.#deps;
    if (!this.#human) {
      this.#failed(DECLINED.hung_up);
      return;
    }
    caller.send({ do: 'holdMusic', isOn: false });
    this.#tell({ type: 'transfer.joined' });
    this.#report({ dialog: person.dialog, ...this.#person, isJoined: true });
    const onPersonLeft = () => this.#tell({ type: 'transfer.finished', isDone: true, message: '' });
    this.#talk = new JoinedTalk({ caller, person: person.leg, onRecording, onPersonLeft });
  }

  #onHumanEvent(event: LegEvent): void {
    this.#extension?.onLegEvent(event);
    if (event.type !== 'closed') {
      this.#consult?.onLegEvent(event);
      return;
    }
    this.#human = null;
    if (!this.#abort.signal.aborted) this.#report(null);
    this.#consult?.take({ is: 'hung_up' });
  }

  #report(person: Parameters<TransferDeps['onPerson']>[0]): void {
    this.#person = person;
    this.#deps.onPerson(person);
  }

  #hangUpHuman(): void {
    this.#human?.send({ do: 'close' });
  }

  #failed(message: string): void {
    this.#deps.caller.send({ do: 'holdMusic', isOn: false });
    this.#tell({ type: 'transfer.finished', isDone: false, message });
  }

  /** A call that is ending takes no more facts. */
  #tell(fact: Parameters<TransferDeps['tell']>[0]): void {
    if (!this.#abort.signal.aborted) this.#deps.tell(fact);
  }
}

const DECLINED: Readonly<Record<ConsultOutcome, string>> = {
  yes: '',
  no: 'The person was reached and cannot take the call now.',
  voicemail: 'A voicemail answered; nobody could take the call.',
  no_answer: 'Somebody answered but did not say whether they take the call.',
  hung_up: 'The person was reached and hung up.',
  caller_gone: '',
};

/** Why the person called did not answer, in words for the model. */
function notAnswered(result: Exclude<OutboundCall, { outcome: 'answered' }>): string {
  if (result.outcome === 'busy') return unreached(486);
  if (result.outcome !== 'failed') return unreached(408);
  return result.error instanceof EgressRefused
    ? `The destination cannot be called: ${result.error.message}.`
    : unreached(statusOf(result.error));
}

/** What a SIP status means for the person called, in words for the model. */
function unreached(status: number): string {
  if (status === 486 || status === 600) return 'The person is busy.';
  if (status === 408 || status === 480) return 'Nobody answered.';
  if (status === 603) return 'The call was declined.';
  return `The person could not be reached${status === 0 ? '' : ` (SIP ${status})`}.`;
}

function statusOf(error: unknown): number {
  return error instanceof InviteRefused ? error.status : 0;
}

/** Whether somebody can be called there. */
function isCallable({ dial_uri: uri, phone_extension: phones }: TransferRoute): boolean {
  return uri !== '' || phones !== undefined;
}

function credentialsOf({ username, password }: TransferRoute): OutboundCallRequest['credentials'] {
  return username === null || password === null ? null : { username, password };
}

function introduction(plan: CallPlan): string {
  const { introduction: full, introductionWithoutNumber } = consultPhrases(
    plan.config.voice.speaking_language,
  );
  const number = plan.system_variables.caller_number_spoken;
  return (number === '' ? introductionWithoutNumber : full)
    .replace('{agent}', plan.agent_name)
    .replace('{number}', number);
}

/** `host[:port]` of a SIP URI. */
function hostOf(uri: string): string {
  return /^sips?:(?:[^@]*@)?([^;?>]+)/i.exec(uri)?.[1] ?? '';
}
