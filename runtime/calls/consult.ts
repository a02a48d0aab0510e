/**
 * The private word with the person a caller is to be handed to (warm): briefed, asked, and heard. Their own
 * words decide. What follows from what is a pure function; the class gives it a voice and ears on the consult
 * leg.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { Within } from '../event-loop/within.ts';
import { addWhole } from '../turn/loop/in-stretches.ts';
import { RecognitionFeed } from '../turn/loop/recognition-feed.ts';
import { SpokenReply, type SpokenReplyOptions } from '../turn/loop/spoken-reply.ts';
import { VoicePace } from '../turn/machine/heard.ts';
import { type ConsultPhrases, consultAnswer } from './consult-phrases.ts';

/** How the consultation ended. */
export type ConsultOutcome = 'yes' | 'no' | 'voicemail' | 'no_answer' | 'hung_up' | 'caller_gone';

/** Where it stands. `closing`: a last line is said before it ends. */
export type ConsultState =
  | { readonly is: 'briefing' }
  | { readonly is: 'asking'; readonly asked: number }
  | { readonly is: 'waiting'; readonly asked: number }
  | { readonly is: 'closing'; readonly outcome: ConsultOutcome };

/** What can happen in it. */
export type ConsultInput =
  /** The line has been said to its end, or cannot be. */
  | { readonly is: 'said' }
  | { readonly is: 'heard'; readonly text: string }
  | { readonly is: 'silence' }
  | { readonly is: 'hung_up' }
  | { readonly is: 'caller_gone' };

/** What follows: a line to say, a time to wait for words, or the end. */
export interface ConsultStep {
  readonly state: ConsultState;
  readonly say?: string;
  readonly waitMs?: number;
  readonly outcome?: ConsultOutcome;
}

/** What it goes by. */
export interface ConsultRules {
  /** Whether the person is asked at all; otherwise they are connected once they are briefed. */
  readonly confirms: boolean;
  readonly phrases: ConsultPhrases;
}

/** Silence after the question before it is asked again. */
const ANSWER_MS = 8_000;
/** How often the question is put. */
const TIMES_ASKED = 3;

/** Takes one fact. */
export function consultStep(rules: ConsultRules, state: ConsultState, input: ConsultInput): ConsultStep {
  const { phrases } = rules;
  if (input.is === 'hung_up') return { state, outcome: state.is === 'closing' ? state.outcome : 'hung_up' };
  if (state.is === 'closing') return input.is === 'said' ? { state, outcome: state.outcome } : { state };
  if (input.is === 'caller_gone')
    return { state: { is: 'closing', outcome: 'caller_gone' }, say: phrases.callerGone };
  if (input.is === 'said') return afterLine(rules, state);
  const answer = input.is === 'heard' ? consultAnswer(input.text, phrases) : 'unclear';
  if (answer === 'voicemail') return { state, outcome: 'voicemail' };
  // Whoever answers the phone says their own name first: no answer before there was a question.
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

/** What a consultation is made with. */
export interface ConsultDeps {
  readonly clock: Clock;
  readonly leg: Leg;
  readonly rules: ConsultRules;
  readonly briefing: string;
  readonly synthesizer: Synthesizer;
  readonly voice: SpokenReplyOptions['voice'];
  readonly recognizer: Recognizer;
  /** What runs its work in the call's name. */
  readonly within?: Within | undefined;
}

/** A line that makes no progress for this long counts as said. */
const LINE_MS = 20_000;

/** One consultation; the leg's events are handed in. */
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
        // Ears that fail for good leave the question to silence.
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
        // They are answering: the question waits.
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

  /** Takes one fact. */
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
    this.#hush();
    this.#settle(outcome);
  }

  #say(text: string): void {
    this.#hush();
    const { briefing, leg, synthesizer, voice, within } = this.#deps;
    this.#lines += 1;
    const line: SpokenReply = new SpokenReply(
      {
        replyId: `consult-${this.#lines}`,
        // The briefing is about this caller, the other lines are the language's own.
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
          // What is audible of it is said first.
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
    // Last: where it fails at once, the next step has been taken when it returns.
    void addWhole(line, text, within);
  }

  /** Breaks off what is being said. */
  #hush(): void {
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
