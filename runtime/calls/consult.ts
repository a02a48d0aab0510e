/**
 * The consultation before a warm transfer: the person is briefed and asked, and their answer decides. The
 * rules are a pure function; the class gives them a voice and a recogniser on the consult leg.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { Within } from '../event-loop/session-attribution.ts';
import { VoicePace } from '../turn/loop/heard.ts';
import { RecognitionFeed } from '../turn/loop/recognition-feed.ts';
import { SpokenReply, type SpokenReplyOptions } from '../turn/loop/spoken-reply.ts';
import { addWholeText } from '../turn/loop/text-in-batches.ts';
import { type ConsultPhrases, consultAnswer } from './consult-phrases.ts';

/** How a consultation ended. */
export type ConsultOutcome = 'yes' | 'no' | 'voicemail' | 'no_answer' | 'hung_up' | 'caller_gone';

/** The state of a consultation. `closing`: a last line is spoken before it ends. */
export type ConsultState =
  | { readonly is: 'briefing' }
  | { readonly is: 'asking'; readonly asked: number }
  | { readonly is: 'waiting'; readonly asked: number }
  | { readonly is: 'closing'; readonly outcome: ConsultOutcome };

/** Events of a consultation. */
export type ConsultInput =
  /** The line has been spoken, or cannot be. */
  | { readonly is: 'said' }
  | { readonly is: 'heard'; readonly text: string }
  | { readonly is: 'silence' }
  | { readonly is: 'hung_up' }
  | { readonly is: 'caller_gone' };

/** The next action: speak a line, wait for words, or end. */
export interface ConsultStep {
  readonly state: ConsultState;
  readonly say?: string;
  readonly waitMs?: number;
  readonly outcome?: ConsultOutcome;
}

/** The rules of one consultation. */
export interface ConsultRules {
  /** Whether the person is asked at all; otherwise they are connected after the briefing. */
  readonly confirms: boolean;
  readonly phrases: ConsultPhrases;
}

/** Silence after the question before it is repeated. */
const ANSWER_MS = 8_000;
/** How often the question is asked. */
const TIMES_ASKED = 3;

/** Handles one event. */
export function consultStep(rules: ConsultRules, state: ConsultState, input: ConsultInput): ConsultStep {
  const { phrases } = rules;
  if (input.is === 'hung_up') return { state, outcome: state.is === 'closing' ? state.outcome : 'hung_up' };
  if (state.is === 'closing') return input.is === 'said' ? { state, outcome: state.outcome } : { state };
  if (input.is === 'caller_gone')
    return { state: { is: 'closing', outcome: 'caller_gone' }, say: phrases.callerGone };
  if (input.is === 'said') return afterLine(rules, state);
  const answer = input.is === 'heard' ? consultAnswer(input.text, phrases) : 'unclear';
  if (answer === 'voicemail') return { state, outcome: 'voicemail' };
  // People answer the phone with their name: words before the question are not an answer.
  if (state.is === 'briefing') return { state };
  if (answer === 'yes') return { state, outcome: 'yes' };
  if (answer === 'no') return { state: { is: 'closing', outcome: 'no' }, say: phrases.declined };
  if (state.is === 'asking') return { state };
  if (state.asked >= TIMES_ASKED)
    return { state: { is: 'closing', outcome: 'no_answer' }, say: phrases.declined };
  return { state: { is: 'asking', asked: state.asked + 1 }, say: phrases.question };
}

/** The briefing ends with the question. */
function afterLine({ confirms }: ConsultRules, state: ConsultState): ConsultStep {
  if (!confirms) return { state, outcome: 'yes' };
  return { state: { is: 'waiting', asked: state.is === 'asking' ? state.asked : 1 }, waitMs: ANSWER_MS };
}

/** Dependencies of a consultation. */
export interface ConsultDeps {
  readonly clock: Clock;
  readonly leg: Leg;
  readonly rules: ConsultRules;
  readonly briefing: string;
  readonly synthesizer: Synthesizer;
  readonly voice: SpokenReplyOptions['voice'];
  readonly recognizer: Recognizer;
  /** Runs its work under the call's name. */
  readonly within?: Within | undefined;
}

/** A line without progress for this long counts as spoken. */
const LINE_MS = 20_000;

/** One consultation; receives the consult leg's events. */
export class Consult {
  readonly outcome: Promise<ConsultOutcome>;
  readonly #deps: ConsultDeps;
  readonly #feed: RecognitionFeed;
  readonly #pace = new VoicePace();
  #settle: (outcome: ConsultOutcome) => void = () => undefined;
  #state: ConsultState = { is: 'briefing' };
  #isOver = false;
  #line: SpokenReply | null = null;
  #lines = 0;
  #pieces = 0;
  #timer: Timer | null = null;

  constructor(deps: ConsultDeps) {
    this.#deps = deps;
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const { phrases } = deps.rules;
    this.#feed = new RecognitionFeed({
      recognizer: deps.recognizer,
      language: deps.voice.language,
      multilingual: false,
      keyterms: [...phrases.yes, ...phrases.no, ...phrases.voicemail],
      onEvent: (event) => {
        if (event.type === 'final') this.take({ is: 'heard', text: event.text });
        // If the recogniser fails for good, the question times out in silence.
        if (event.type === 'failed' && event.error.retryable && !this.#isOver) this.#feed.open();
      },
    });
    this.#feed.open();
    this.#say(deps.briefing);
  }

  /** An event of the consult leg. */
  onLegEvent(event: LegEvent): void {
    switch (event.type) {
      case 'audio':
        if (!this.#isOver) this.#feed.write(event.samples, this.#deps.leg.inRateHz);
        return;
      case 'voice.onset':
        // They are answering, so the question waits.
        if (this.#state.is === 'waiting') this.#startTimer(ANSWER_MS, { is: 'silence' });
        return;
      case 'voice.offset':
        if (!this.#isOver) this.#feed.finalise();
        return;
      case 'playout.mark':
        this.#line?.onMark(event.pieceId, event.mark);
        if (event.replyId === this.#line?.replyId) this.#startTimer(LINE_MS, { is: 'said' });
        return;
      case 'playout.finished':
        if (event.replyId === this.#line?.replyId) this.take({ is: 'said' });
        return;
      default:
        return;
    }
  }

  /** Handles one event. */
  take(input: ConsultInput): void {
    if (this.#isOver) return;
    const { state, say, waitMs, outcome } = consultStep(this.#deps.rules, this.#state, input);
    this.#state = state;
    if (outcome !== undefined) this.#end(outcome);
    else if (say !== undefined) this.#say(say);
    else if (waitMs !== undefined) this.#startTimer(waitMs, { is: 'silence' });
  }

  #end(outcome: ConsultOutcome): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#feed.close();
    this.#stopSpeaking();
    this.#settle(outcome);
  }

  #say(text: string): void {
    this.#stopSpeaking();
    const { briefing, leg, synthesizer, voice, within } = this.#deps;
    this.#lines += 1;
    const line: SpokenReply = new SpokenReply(
      {
        replyId: `consult-${this.#lines}`,
        // The briefing is specific to this caller; the other lines are fixed texts of the language.
        isFixed: text !== briefing,
        synthesizer,
        voice,
        pace: this.#pace,
        rateHz: leg.outRateHz,
        send: (command) => leg.send(command),
        canSend: () => true,
        within,
        onAudible: () => undefined,
        onFailed: () => {
          // If part of it is already audible, that part is played first.
          if (line === this.#line && !line.isAudible) this.take({ is: 'said' });
        },
        nextPieceId: () => {
          this.#pieces += 1;
          return this.#pieces;
        },
      },
      false,
    );
    this.#line = line;
    line.play();
    this.#startTimer(LINE_MS, { is: 'said' });
    // Last: if it fails immediately, the next step has already run when it returns.
    void addWholeText(line, text, within);
  }

  /** Stops the current line. */
  #stopSpeaking(): void {
    if (!this.#line) return;
    this.#line.stop();
    this.#line = null;
    this.#deps.leg.send({ do: 'clear' });
  }

  #startTimer(ms: number, input: ConsultInput): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(ms, () => this.take(input));
  }
}
