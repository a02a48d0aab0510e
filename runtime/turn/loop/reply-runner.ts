/**
 * Carries out the turn machine's effects on replies: runs the model, cuts its text into pieces, synthesises
 * them, and converts the leg's reports into inputs of the machine. Captions follow playout word by word.
 */

import type { LegCommand, LegEvent } from '#media/leg/leg.ts';
import type { Synthesizer } from '#media/speech/speech.ts';
import type { AgentEvent } from '#protocol/session-events.ts';
import type { Within } from '../../event-loop/session-attribution.ts';
import { CallIds } from '../../llm/call-ids.ts';
import {
  type ChatDelta,
  type ChatRequest,
  type LanguageModel,
  ModelError,
  type ToolCall,
} from '../../llm/llm.ts';
import { shownKeysOf } from '../../tools/press-keys.ts';
import type { Effect } from '../machine/turn-effects.ts';
import type { ToolMode, TurnFact } from '../machine/turn-inputs.ts';
import { ClaimGuard } from './claim-guard.ts';
import { VoicePace } from './heard.ts';
import type { HeldKeys } from './held-keys.ts';
import { createPieceCutter, type Piece } from './piece-cutter.ts';
import { type UsageNote, usageOf, type WrittenSoFar } from './reply-usage.ts';
import { SpokenReply } from './spoken-reply.ts';
import { addWholeText, inBatches } from './text-in-batches.ts';
import { WrittenReply } from './written-reply.ts';

/** Options of the runner. */
export interface ReplyRunnerOptions {
  readonly model: LanguageModel;
  /** Runs the call's work under its name. */
  readonly within: Within;
  readonly synthesizer: Synthesizer;
  /** Another voice says this text, in one piece. Null or absent: none does. */
  readonly recorded?: { readonly text: string; readonly voice: Synthesizer } | null;
  readonly voice: {
    readonly voiceId: string | null;
    readonly language: string;
    readonly speed: number;
    readonly isExpressive?: boolean;
  };
  readonly outRateHz: () => number;
  /** Whether a text is spoken in other calls as well, and so worth caching. */
  readonly isFixed: (text: string) => boolean;
  readonly request: (run: Extract<Effect, { do: 'generate' }>, signal: AbortSignal) => Promise<ChatRequest>;
  readonly traits: (toolName: string) => { readonly mode: ToolMode; readonly source: string };
  /** Null if the agent may not press keys. */
  readonly keys: HeldKeys | null;
  readonly accept: (fact: TurnFact) => void;
  readonly send: (command: LegCommand) => void;
  /** False when there is no leg to send to. */
  readonly hasLeg: () => boolean;
  readonly event: (event: AgentEvent) => void;
  readonly noteUsage: (note: UsageNote) => void;
}

interface Run extends WrittenSoFar {
  readonly voice: SpokenReply | WrittenReply;
  readonly guard: ClaimGuard;
  isNoted: boolean;
}

type PlayoutReport = Extract<LegEvent, { type: `playout.${string}` }>;

/** The replies of one call. */
export class ReplyRunner {
  readonly #options: ReplyRunnerOptions;
  readonly #runs = new Map<string, Run>();
  readonly #callIds = new CallIds();
  readonly #pace = new VoicePace();
  #lastPieceId = 0;
  /** Replies on the leg, oldest first: `playout.cleared` refers to them. */
  #onLeg: string[] = [];

  constructor(options: ReplyRunnerOptions) {
    this.#options = options;
  }

  /** Speaks a fixed text, or writes it. */
  say({ replyId, text, isSpoken }: Extract<Effect, { do: 'say' }>): void {
    const { isFixed, recorded } = this.#options;
    const recording = isSpoken && recorded?.text === text ? recorded.voice : null;
    const voice = isSpoken
      ? this.#spoken(replyId, { isSpeculative: false, isFixed: isFixed(text), recording })
      : this.#written(replyId);
    this.#runs.set(replyId, {
      voice,
      guard: new ClaimGuard(() => false),
      isCommitted: true,
      turnId: null,
      usage: null,
      modelId: '',
      writtenChars: 0,
      isNoted: true,
    });
    if (recording === null) {
      void addWholeText(voice, text, this.#options.within);
      return;
    }
    voice.add({ text, emotion: null });
    voice.complete();
  }

  /** Runs the model and speaks what it writes. */
  generate(effect: Extract<Effect, { do: 'generate' }>): void {
    const { replyId, turnId, isSpeculative, isSpoken, isUnseen } = effect;
    const { keys, model } = this.#options;
    const voice = isSpoken
      ? this.#spoken(replyId, { isSpeculative, isFixed: false, recording: null })
      : this.#written(replyId, isUnseen);
    const run: Run = {
      voice,
      guard: new ClaimGuard((text) => keys?.isClaimedIn(text) ?? false),
      isCommitted: !isSpeculative,
      turnId,
      usage: null,
      modelId: model.id,
      writtenChars: 0,
      isNoted: false,
    };
    this.#runs.set(replyId, run);
    void this.#stream(effect, run);
  }

  commit(replyId: string): void {
    const run = this.#runs.get(replyId);
    if (!run) return;
    run.isCommitted = true;
    run.voice.commit();
    if (run.usage) this.#note(run);
  }

  play(replyId: string): void {
    this.#runs.get(replyId)?.voice.play();
  }

  /** Says the pieces that were held. */
  release(replyId: string): void {
    const run = this.#runs.get(replyId);
    if (!run) return;
    run.voice.add(...run.guard.release());
    if (run.guard.isOver) run.voice.complete();
  }

  holdBack(replyId: string): void {
    this.#runs.get(replyId)?.voice.holdBack();
  }

  /** Discards a reply that has not been heard. */
  discard(replyId: string): void {
    const run = this.#runs.get(replyId);
    if (!run) return;
    this.#end(replyId, run);
  }

  /** Stops the reply that is playing; `playout.cleared` follows. */
  clear(replyId: string): void {
    const run = this.#runs.get(replyId);
    if (!run) return;
    run.voice.stop();
    if (run.voice.hasBeenSent && this.#onLeg.includes(replyId)) this.#options.send({ do: 'clear' });
    else this.#cleared(replyId, run, null);
  }

  /** The leg is gone: its replies are reported as cut at their last known position. */
  leaveLeg(): void {
    for (const replyId of [...this.#onLeg]) {
      const run = this.#runs.get(replyId);
      run?.voice.stop();
      if (run) this.#cleared(replyId, run, null);
    }
  }

  /** A leg is back: replies that were waiting are sent. */
  joinLeg(): void {
    for (const { voice } of this.#runs.values()) if (voice instanceof SpokenReply) voice.resumeSending();
  }

  /** Ends every reply; nothing more is reported. */
  close(): void {
    for (const [replyId, run] of [...this.#runs]) this.#end(replyId, run);
  }

  /** Handles the leg's report about a reply. */
  onPlayout(report: PlayoutReport): void {
    switch (report.type) {
      case 'playout.started':
        this.#options.accept({ type: 'playout.started', replyId: report.replyId, wireMs: report.atMs });
        break;
      case 'playout.mark':
        this.#onMark(report);
        break;
      case 'playout.finished':
        this.#onFinished(report.replyId);
        break;
      case 'playout.cleared':
        this.#onCleared(report);
        break;
      case 'playout.paused':
      case 'playout.starved':
        break;
      default:
        report satisfies never;
    }
  }

  #written(replyId: string, isUnseen = false): WrittenReply {
    const { accept } = this.#options;
    const event = isUnseen ? () => undefined : this.#options.event;
    return new WrittenReply({ replyId, accept, event, onFailed: (error) => this.#unsaid(replyId, error) });
  }

  /**
   * An audible fixed text counts as heard as far as it was played. Its playout ends it; a failure reported
   * before that would make it count as unheard.
   */
  #unsaid(replyId: string, error: unknown): void {
    const run = this.#runs.get(replyId);
    if (run?.turnId === null && run.voice instanceof SpokenReply && run.voice.isAudible) return;
    this.#options.accept({ type: 'reply.failed', replyId, stage: 'synthesis', ...described(error) });
  }

  #spoken(
    replyId: string,
    {
      isSpeculative,
      isFixed,
      recording,
    }: {
      readonly isSpeculative: boolean;
      readonly isFixed: boolean;
      readonly recording: Synthesizer | null;
    },
  ): SpokenReply {
    const { accept, hasLeg, outRateHz, send, synthesizer, voice, within } = this.#options;
    const options = {
      replyId,
      isFixed,
      synthesizer: recording ?? synthesizer,
      voice,
      pace: this.#pace,
      rateHz: outRateHz(),
      send: (command: LegCommand) => {
        if (!this.#onLeg.includes(replyId)) this.#onLeg.push(replyId);
        send(command);
      },
      canSend: hasLeg,
      within,
      onAudible: () => accept({ type: 'reply.audible', replyId }),
      onFailed: (error: unknown) => this.#unsaid(replyId, error),
      nextPieceId: () => {
        this.#lastPieceId += 1;
        return this.#lastPieceId;
      },
    };
    return new SpokenReply(options, isSpeculative);
  }

  async #stream(effect: Extract<Effect, { do: 'generate' }>, run: Run): Promise<void> {
    const { replyId } = effect;
    const { accept, model, request, within } = this.#options;
    const { signal } = run.voice;
    const cutter = createPieceCutter();
    const addPieces = (pieces: readonly Piece[]) => {
      const said = pieces.filter((piece) => {
        const isHeld = run.guard.holds(piece);
        accept({ type: 'reply.piece', replyId, text: piece.text, ...(isHeld && { isHeld }) });
        return !isHeld;
      });
      run.voice.add(...said);
    };
    let hasBegun = false;
    const onDelta = (delta: ChatDelta) => {
      if (!hasBegun && delta.type !== 'finish') accept({ type: 'reply.token', replyId });
      hasBegun = true;
      if (delta.type === 'text') {
        run.writtenChars += delta.text.length;
        addPieces(cutter.push(delta.text));
      } else if (delta.type === 'tool_call') this.#called(replyId, run, delta.call);
      else this.#finished(run, delta);
    };
    const cutRest = () =>
      within(() => {
        addPieces(cutter.finish());
        const { expects } = cutter;
        if (expects !== undefined) accept({ type: 'reply.expects', replyId, expects });
      });
    const finish = (fact: TurnFact) =>
      within(() => {
        accept(fact);
        run.guard.end();
        if (run.guard.isOver) run.voice.complete();
      });
    try {
      const asked = await request(effect, signal);
      for await (const delta of inBatches(model.stream(asked))) {
        if (signal.aborted) return;
        within(() => onDelta(delta));
      }
      if (signal.aborted) return;
      cutRest();
      finish({ type: 'reply.generated', replyId });
    } catch (error) {
      if (signal.aborted) return;
      try {
        cutRest();
      } catch {
        // If cutting the text failed there is no rest; the first failure is reported and ends the reply.
      }
      finish({ type: 'reply.failed', replyId, stage: 'model', ...described(error) });
    }
  }

  #called(replyId: string, { guard }: Run, given: ToolCall): void {
    const { accept, keys, traits } = this.#options;
    const { mode, source } = traits(given.toolName);
    const unique = this.#callIds.unique(given);
    const call = mode === 'keys' && keys ? keys.hide(unique) : unique;
    if (mode === 'keys' && shownKeysOf(call.input) !== null) guard.press();
    accept({ type: 'reply.tool_called', replyId, call, mode, source });
  }

  #finished(run: Run, { usage, modelId = run.modelId }: Extract<ChatDelta, { type: 'finish' }>): void {
    run.usage = usage;
    run.modelId = modelId;
    if (run.isCommitted) this.#note(run);
  }

  #note(run: Run): void {
    if (run.isNoted) return;
    run.isNoted = true;
    const note = usageOf(run);
    if (note) this.#options.noteUsage(note);
  }

  #onMark({ replyId, pieceId, mark }: Extract<PlayoutReport, { type: 'playout.mark' }>): void {
    const run = this.#runs.get(replyId);
    if (!(run?.voice instanceof SpokenReply) || run.voice.signal.aborted) return;
    const { text } = run.voice.onMark(pieceId, mark);
    this.#options.event({ type: 'transcript', role: 'agent', segmentId: replyId, text, final: false });
    this.#options.accept({ type: 'playout.progressed', replyId, heardChars: text.length });
  }

  #onFinished(replyId: string): void {
    const run = this.#runs.get(replyId);
    if (!run || !(run.voice instanceof SpokenReply)) return;
    const heard = run.voice.wholeText;
    this.#end(replyId, run);
    this.#caption(replyId, heard);
    this.#options.accept({ type: 'playout.finished', replyId, heard });
  }

  #onCleared({ position }: Extract<PlayoutReport, { type: 'playout.cleared' }>): void {
    // The leg answers for the oldest stopped reply.
    const replyId = this.#onLeg.find((id) => this.#runs.get(id)?.voice.signal.aborted);
    const run = replyId === undefined ? undefined : this.#runs.get(replyId);
    if (replyId === undefined || !run) return;
    this.#cleared(replyId, run, position?.replyId === replyId ? position : null);
  }

  #cleared(replyId: string, run: Run, position: Parameters<SpokenReply['heardAt']>[0]): void {
    const heard = run.voice.heardAt(position);
    this.#end(replyId, run);
    this.#caption(replyId, heard.text);
    this.#options.accept({ type: 'playout.cleared', replyId, heard: heard.text, isExact: heard.isExact });
  }

  /** A reply's last caption: only the words that were spoken. */
  #caption(replyId: string, text: string): void {
    if (text !== '')
      this.#options.event({ type: 'transcript', role: 'agent', segmentId: replyId, text, final: true });
  }

  #end(replyId: string, run: Run): void {
    this.#runs.delete(replyId);
    this.#onLeg = this.#onLeg.filter((id) => id !== replyId);
    run.voice.stop();
    this.#note(run);
  }
}

function described(error: unknown): { message: string; status: number | null; isRetryable: boolean } {
  if (error instanceof ModelError)
    return { message: error.message, status: error.status, isRetryable: error.retryable };
  const isRetryable =
    typeof error === 'object' && error !== null && 'retryable' in error ? error.retryable === true : true;
  return { message: error instanceof Error ? error.message : String(error), status: null, isRetryable };
}
