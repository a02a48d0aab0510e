/**
 * What a caller said, as spans: one for each utterance, from the first sound to the recogniser's last word.
 * Derived from the facts that the turn machine gets.
 */
import { askedSpeechEngine, GEN_AI, OPERATION } from '#config/gen-ai.ts';
import type { FinishedSpan, SpanAttributes } from '#config/tracing.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import { heardContent } from './trace-content.ts';

/** A sound without words this long before the next one does not belong to it: it was noise. */
const NOISE_MS = 2_000;

/** Options of the spans. */
export interface CallerSpeechOptions {
  /** The recogniser in use; null without one. */
  readonly engineId: () => string | null;
  readonly language: string;
  readonly common: SpanAttributes;
  readonly hasContent: boolean;
  /** The wall time of a monotonic one. */
  readonly wallMs: (monotonicMs: number) => number;
}

/** An utterance in progress. Times are monotonic. */
interface Utterance {
  startMs: number;
  /** End of the last sound; null while the caller makes one. */
  silentFromMs: number | null;
  soundFromMs: number;
  soundMs: number;
  /** Last answer of the recogniser with words, or after some; null before the first. */
  answeredMs: number | null;
  readonly finals: string[];
}

/** The utterances of one call. */
export class CallerSpeech {
  readonly #options: CallerSpeechOptions;
  #utterance: Utterance | null = null;
  #failed: FinishedSpan[] = [];

  constructor(options: CallerSpeechOptions) {
    this.#options = options;
  }

  /** Takes a fact; those that say nothing about the caller's speech are ignored. */
  observe(input: TurnInput): void {
    switch (input.type) {
      case 'voice.started':
        this.#begin(input.speechStartMs);
        break;
      case 'voice.stopped':
        this.#silence(input.speechEndMs);
        break;
      case 'transcript.interim':
      case 'transcript.final':
        if (input.text.trim() !== '') this.#words(input);
        break;
      case 'transcript.finalised':
        if (this.#utterance?.answeredMs != null) this.#utterance.answeredMs = input.atMs;
        break;
      case 'recognizer.failed':
        this.#failed.push(...this.#span(this.#utterance ?? utteranceAt(input.atMs), input.atMs, true));
        break;
      default:
        break;
    }
  }

  /** The spans of what was said and understood since the last time. */
  take(): FinishedSpan[] {
    const spans = this.#failed;
    this.#failed = [];
    const utterance = this.#utterance;
    if (utterance === null || utterance.answeredMs === null) return spans;
    this.#utterance = null;
    return [...spans, ...this.#span(utterance, utterance.answeredMs, false)];
  }

  #begin(atMs: number): void {
    const before = this.#utterance;
    const isNoise =
      before?.answeredMs === null && before.silentFromMs !== null && atMs - before.silentFromMs > NOISE_MS;
    if (before === null || isNoise) this.#utterance = utteranceAt(atMs);
    else if (before.silentFromMs !== null) Object.assign(before, { silentFromMs: null, soundFromMs: atMs });
  }

  #silence(atMs: number): void {
    const utterance = this.#utterance;
    if (utterance === null || utterance.silentFromMs !== null) return;
    utterance.soundMs += atMs - utterance.soundFromMs;
    utterance.silentFromMs = atMs;
  }

  #words(input: Extract<TurnInput, { type: 'transcript.interim' | 'transcript.final' }>): void {
    this.#utterance ??= utteranceAt(input.atMs);
    this.#utterance.answeredMs = input.atMs;
    if (input.type === 'transcript.final') this.#utterance.finals.push(input.text);
  }

  #span(utterance: Utterance, endMs: number, isFailed: boolean): FinishedSpan[] {
    const { common, engineId, hasContent, language, wallMs } = this.#options;
    const id = engineId();
    if (id === null) return [];
    const { provider, model, isInProcess } = askedSpeechEngine(id);
    const { finals, silentFromMs, soundFromMs, soundMs, startMs } = utterance;
    const audioMs = soundMs + (silentFromMs === null ? Math.max(0, endMs - soundFromMs) : 0);
    const error = isFailed ? 'recognition_failed' : null;
    return [
      {
        name: `${OPERATION.recognition} ${model}`,
        kind: isInProcess ? 'internal' : 'client',
        startMs: wallMs(startMs),
        endMs: wallMs(Math.max(startMs, endMs)),
        attributes: {
          ...common,
          [GEN_AI.operation]: OPERATION.recognition,
          [GEN_AI.provider]: provider,
          [GEN_AI.requestModel]: model,
          [GEN_AI.spokenLanguage]: language,
          'parley.audio_seconds': Math.round(audioMs) / 1_000,
          [GEN_AI.errorType]: error,
          ...(hasContent && finals.length > 0 ? heardContent(finals.join(' ')) : {}),
        },
        error,
      },
    ];
  }
}

function utteranceAt(atMs: number): Utterance {
  return {
    startMs: atMs,
    silentFromMs: null,
    soundFromMs: atMs,
    soundMs: 0,
    answeredMs: null,
    finals: [],
  };
}
