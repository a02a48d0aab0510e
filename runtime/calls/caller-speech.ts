/**
 * A caller's speech as spans: one for each utterance, from the first sound to the recogniser's last answer.
 * Derived from the facts that the turn machine gets, and from what the machine makes of them: a voice after
 * it has settled the speech before is another utterance. Speech that became no turn, such as a listener's
 * "yeah" or what was said to a colleague, belongs to the call.
 */
import { askedSpeechEngine, GEN_AI, OPERATION, spanName } from '#config/gen-ai.ts';
import type { FinishedSpan, SpanAttributes } from '#config/tracing.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { StepResult } from '../turn/machine/turn-machine.ts';
import type { TurnState } from '../turn/machine/turn-state.ts';
import { openTurns } from './open-turns.ts';
import { heardContent } from './trace-content.ts';
import type { Recognition } from './traced-speech.ts';
import { areLateWords } from './turn-ends.ts';

/** A sound without words this long before the next one does not belong to it: it was noise. */
const NOISE_MS = 2_000;

/** Options of the spans. */
export interface CallerSpeechOptions {
  /** Where the recogniser's events come from. */
  readonly recognition: Recognition;
  readonly language: string;
  readonly common: SpanAttributes;
  readonly hasContent: boolean;
  /** The wall time of a monotonic one. */
  readonly wallMs: (monotonicMs: number) => number;
  /** Takes the span of an utterance and the turn it belongs to; null: none. */
  readonly note: (span: FinishedSpan, turnId: number | null) => void;
}

/** An utterance, as one recogniser heard it. Times are monotonic. */
interface Hearing {
  readonly startMs: number;
  /** End of the last sound; null while the caller makes one. */
  silentFromMs: number | null;
  soundFromMs: number;
  soundMs: number;
  /** Sound before the last final: no other recogniser gets it. */
  finalSoundMs: number;
  /** Last answer with words, or after some; null before the first. */
  answeredMs: number | null;
  engineId: string | null;
  failure: { readonly atMs: number; readonly type: string } | null;
  readonly finals: string[];
  /** How long after its turn was taken on earlier words its final came; null if it was not late. */
  lateMs: number | null;
}

/** Several hearings if its recogniser failed, the last one last. */
interface Utterance {
  readonly hearings: Hearing[];
  turnId: number | null;
  /** When the machine took or dropped it; null before. Monotonic. */
  settledMs: number | null;
}

/** The utterances of one call. */
export class CallerSpeech {
  readonly #options: CallerSpeechOptions;
  /** The utterance in progress. */
  #utterance = noUtterance();
  /** The one before, if the next sound began before its final words came. */
  #unfinished: Utterance | null = null;
  /** The machine has taken or dropped the speech so far. */
  #isSettled = true;

  constructor(options: CallerSpeechOptions) {
    this.#options = options;
  }

  /** Takes a fact and the machine's state after it. */
  observe(input: TurnInput, result: StepResult): void {
    const { state } = result;
    const isSettled = state.caller.is === 'silent';
    switch (input.type) {
      case 'voice.started':
        this.#begin(input.speechStartMs, state.pendingTranscript?.is === 'committed');
        break;
      case 'voice.stopped':
        this.#silence(input.speechEndMs);
        break;
      case 'transcript.interim':
      case 'transcript.final':
        // Words without a voice that are not late ones of the last utterance.
        if (this.#isSettled && !isSettled && this.#current?.answeredMs !== null) this.end();
        if (areLateWords(result)) this.#lateWords(input);
        else if (input.text.trim() !== '') this.#words(input);
        break;
      case 'transcript.finalised':
        if (this.#unfinished) this.#finish();
        else if (this.#current?.answeredMs != null) this.#current.answeredMs = input.atMs;
        break;
      case 'recognizer.failed':
        this.#fail(input.atMs);
        break;
      default:
        break;
    }
    const utterance = this.#utterance;
    if (!isSettled) utterance.settledMs = null;
    else if (!this.#isSettled) utterance.settledMs = input.atMs;
    this.#isSettled = isSettled;
    if (utterance.hearings.length > 0) utterance.turnId ??= this.#turnOf(state);
  }

  /** The utterance of this turn is over. */
  endOf(turnId: number): void {
    if (this.#unfinished?.turnId === turnId) this.#finish();
    if (this.#utterance.turnId === turnId) this.end();
  }

  /** The utterance in progress is over. */
  end(): void {
    this.#finish();
    this.#unfinished = this.#utterance;
    this.#utterance = noUtterance();
    this.#finish();
  }

  /** No more words of the utterance before are expected. */
  #finish(): void {
    const { hearings, turnId } = this.#unfinished ?? noUtterance();
    this.#unfinished = null;
    for (const hearing of hearings) {
      const span = this.#span(hearing);
      if (span !== null) this.#options.note(span, turnId);
    }
  }

  /** Null before the first sound, and after a failure in silence. */
  get #current(): Hearing | null {
    return openHearing(this.#utterance);
  }

  /** `awaitsFinal`: the recogniser still owes the final words of the turn that was taken last. */
  #begin(atMs: number, awaitsFinal: boolean): void {
    if (this.#isOver(atMs)) {
      const before = this.#utterance;
      if (!awaitsFinal || before.hearings.length === 0) this.end();
      else {
        this.#finish();
        this.#unfinished = before;
        this.#utterance = noUtterance();
      }
    }
    const before = this.#current;
    if (before === null) this.#utterance.hearings.push(hearingFrom(atMs));
    else if (before.silentFromMs !== null) Object.assign(before, { silentFromMs: null, soundFromMs: atMs });
  }

  /** Whether the next sound begins another utterance. */
  #isOver(atMs: number): boolean {
    const current = this.#current;
    if (!this.#isSettled || current === null || current.answeredMs !== null) return this.#isSettled;
    return current.silentFromMs !== null && atMs - current.silentFromMs > NOISE_MS;
  }

  #silence(atMs: number): void {
    const current = this.#current;
    if (current === null || current.silentFromMs !== null) return;
    current.soundMs += atMs - current.soundFromMs;
    current.silentFromMs = atMs;
  }

  #words(input: Extract<TurnInput, { type: 'transcript.interim' | 'transcript.final' }>): void {
    const { atMs, text, type } = input;
    const current = this.#current ?? { ...hearingFrom(atMs), silentFromMs: atMs };
    if (current !== this.#current) this.#utterance.hearings.push(current);
    current.answeredMs = atMs;
    current.engineId = this.#options.recognition.latest?.engineId ?? null;
    if (type === 'transcript.interim') return;
    current.finals.push(text);
    current.finalSoundMs = soundUntil(current, atMs);
  }

  /** The turn was taken on earlier interim words. */
  #lateWords(input: Extract<TurnInput, { type: 'transcript.interim' | 'transcript.final' }>): void {
    const utterance = this.#unfinished ?? this.#utterance;
    const hearing = openHearing(utterance);
    if (hearing === null || utterance === this.#utterance) this.#words(input);
    else {
      hearing.answeredMs = input.atMs;
      if (input.type === 'transcript.final') hearing.finals.push(input.text);
    }
    if (input.type === 'transcript.interim') return;
    if (hearing !== null && utterance.settledMs !== null) hearing.lateMs = input.atMs - utterance.settledMs;
    if (utterance === this.#unfinished) this.#finish();
  }

  /** The recogniser that takes over gets the sound again that had no final. */
  #fail(atMs: number): void {
    if (this.#isOver(atMs)) this.end();
    const { latest } = this.#options.recognition;
    const failed = this.#current ?? { ...hearingFrom(atMs), silentFromMs: atMs };
    if (failed !== this.#current) this.#utterance.hearings.push(failed);
    failed.engineId = latest?.engineId ?? null;
    failed.failure = { atMs, type: latest?.failure ?? '_OTHER' };
    const soundMs = soundUntil(failed, atMs) - failed.finalSoundMs;
    if (failed.silentFromMs !== null && soundMs === 0) return;
    const silentFromMs = failed.silentFromMs === null ? null : atMs;
    this.#utterance.hearings.push({ ...hearingFrom(atMs), silentFromMs, soundMs });
  }

  /** The turn that the machine made of the utterance; null if it has made none so far. */
  #turnOf(state: TurnState): number | null {
    const { hearings } = this.#utterance;
    const fromMs = hearings[0]?.startMs ?? Number.POSITIVE_INFINITY;
    const untilMs = hearings.at(-1)?.silentFromMs ?? Number.POSITIVE_INFINITY;
    const turn = openTurns(state).find(
      ({ source, speechEndMs, startMs }) =>
        source === 'speech' && startMs <= untilMs && speechEndMs >= fromMs,
    );
    return turn?.turnId ?? null;
  }

  /** Null for a hearing without words: it was noise, or the recogniser could not tell. */
  #span(hearing: Hearing): FinishedSpan | null {
    const { common, hasContent, language, wallMs } = this.#options;
    const { answeredMs, engineId, failure, finals, lateMs, startMs } = hearing;
    const endMs = failure?.atMs ?? answeredMs;
    if (engineId === null || endMs === null) return null;
    const { provider, model, isInProcess } = askedSpeechEngine(engineId);
    const error = failure?.type ?? null;
    return {
      name: spanName(OPERATION.recognition, model),
      kind: isInProcess ? 'internal' : 'client',
      startMs: wallMs(startMs),
      endMs: wallMs(Math.max(startMs, endMs)),
      attributes: {
        ...common,
        [GEN_AI.operation]: OPERATION.recognition,
        [GEN_AI.provider]: provider,
        [GEN_AI.requestModel]: model,
        [GEN_AI.spokenLanguage]: language,
        'parley.audio_seconds': Math.round(soundUntil(hearing, endMs)) / 1_000,
        'parley.late_final_ms': lateMs === null ? null : Math.round(lateMs),
        [GEN_AI.errorType]: error,
        ...(hasContent && finals.length > 0 ? heardContent(finals.join(' ')) : {}),
      },
      error,
    };
  }
}

function hearingFrom(atMs: number): Hearing {
  return {
    startMs: atMs,
    silentFromMs: null,
    soundFromMs: atMs,
    soundMs: 0,
    finalSoundMs: 0,
    answeredMs: null,
    engineId: null,
    failure: null,
    finals: [],
    lateMs: null,
  };
}

function noUtterance(): Utterance {
  return { hearings: [], turnId: null, settledMs: null };
}

/** The hearing that gets the next words; null if there is none, or its recogniser has failed. */
function openHearing({ hearings }: Utterance): Hearing | null {
  const last = hearings.at(-1);
  return last && last.failure === null ? last : null;
}

function soundUntil({ silentFromMs, soundFromMs, soundMs }: Hearing, atMs: number): number {
  return soundMs + (silentFromMs === null ? Math.max(0, atMs - soundFromMs) : 0);
}
