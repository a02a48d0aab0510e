/**
 * Explains every silence of a call: observes the machine's inputs and decisions, and for each gap the caller
 * had to wait through reports what took how long, by which rules, and what the alternatives were. An observer
 * only: the machine does not depend on it.
 */
import type { TurnSilence } from '#protocol/session-record.ts';
import type { Decision, Effect, TurnWaterfall } from '../machine/turn-effects.ts';
import type { TurnInput } from '../machine/turn-inputs.ts';

/** Shorter gaps are the rhythm of speech. */
const NOTED_FROM_MS = 700;
/** Decisions kept per gap. */
const DECISIONS = 20;
/** Decisions to speak into a silence in which the caller was not waiting. */
const INTO_QUIET: ReadonlySet<string> = new Set(['reengage', 'idle_hangup', 'end_of_call']);

/** A silence, with times on the monotonic clock. */
export interface NotedSilence {
  readonly turnId: number | null;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly endedBy: TurnSilence['ended_by'];
  readonly causes: TurnSilence['causes'];
  readonly decisions: readonly MadeDecision[];
}

interface MadeDecision extends Decision {
  readonly atMs: number;
}

interface ToolRun {
  readonly name: string;
  readonly fromMs: number;
  untilMs: number | null;
}

/** The silences of one call. */
export class SilenceLog {
  #fromMs: number | null = null;
  #isAgentHeard = false;
  #isCallerHeard = false;
  /** The caller hears music, or another person. */
  #isAway = false;
  #decisions: MadeDecision[] = [];
  #waterfall: TurnWaterfall | null = null;
  readonly #tools = new Map<string, ToolRun>();

  /** Observes one step of the machine; returns the silence it ended, if worth reporting. */
  observe(input: TurnInput, effects: readonly Effect[]): NotedSilence | null {
    for (const effect of effects) this.#note(effect, input.atMs);
    const ended = this.#heard(input);
    if (!effects.some((effect) => effect.do === 'pressKeys')) return ended;
    // Keys are what the far end has waited for, although some of them have no sound.
    this.#isAgentHeard = true;
    return ended ?? this.#end(input.atMs, 'agent');
  }

  #heard(input: TurnInput): NotedSilence | null {
    switch (input.type) {
      case 'call.connected':
      case 'user.message':
      case 'digit.pressed':
        this.#quietFrom(input.atMs);
        return null;
      case 'voice.stopped':
        this.#isCallerHeard = false;
        this.#quietFrom(input.speechEndMs);
        return null;
      case 'keys.sent':
      case 'playout.finished':
      case 'playout.cleared':
        this.#isAgentHeard = false;
        this.#quietFrom(input.atMs);
        return null;
      case 'transfer.finished':
      case 'colleague.handed_back':
        this.#isAway = false;
        this.#quietFrom(input.atMs);
        return null;
      case 'tool.finished': {
        const run = this.#tools.get(input.callId);
        if (run) run.untilMs = input.atMs;
        return null;
      }
      case 'voice.started':
        this.#isCallerHeard = true;
        return this.#end(input.speechStartMs, 'caller');
      case 'playout.started':
        this.#isAgentHeard = true;
        return this.#end(input.wireMs, 'agent');
      default:
        return null;
    }
  }

  #note(effect: Effect, atMs: number): void {
    if (effect.do === 'explain') this.#decided({ ...effect.decision, atMs });
    else if (effect.do === 'reportTurn') this.#waterfall = effect.waterfall;
    else if (effect.do === 'transfer' || effect.do === 'yield') {
      this.#isAway = true;
      this.#fromMs = null;
    } else if (effect.do === 'dropKeys') {
      this.#isAgentHeard = false;
      this.#quietFrom(atMs);
    } else if (effect.do === 'runTool')
      this.#tools.set(effect.call.callId, { name: effect.call.toolName, fromMs: atMs, untilMs: null });
  }

  #decided(decision: MadeDecision): void {
    if (decision.about === 'interruption' && decision.rule === 'user_interrupt') {
      // The caller stopped the agent: earlier waits are over.
      this.#decisions = [];
      this.#quietFrom(decision.atMs);
    }
    if (this.#decisions.length < DECISIONS) this.#decisions.push(decision);
  }

  #quietFrom(ms: number): void {
    if (!this.#isAgentHeard && !this.#isCallerHeard && !this.#isAway) this.#fromMs = ms;
  }

  #end(untilMs: number, endedBy: TurnSilence['ended_by']): NotedSilence | null {
    const fromMs = this.#fromMs;
    const waterfall = endedBy === 'agent' ? this.#waterfall : null;
    const decisions = this.#decisions;
    const tools = [...this.#tools.values()];
    this.#fromMs = null;
    this.#waterfall = null;
    this.#decisions = [];
    for (const [callId, run] of this.#tools) if (run.untilMs !== null) this.#tools.delete(callId);
    if (fromMs === null || untilMs - fromMs <= NOTED_FROM_MS) return null;
    // A caller who continues before the agent's turn was not kept waiting.
    if (endedBy === 'caller' && !decisions.some(({ about }) => about === 'endpoint' || about === 'line'))
      return null;
    const causes = waterfall
      ? partsOf(waterfall, { fromMs, untilMs })
      : causesOf({ fromMs, untilMs, endedBy }, decisions, tools);
    return {
      turnId: waterfall?.turn_id ?? null,
      fromMs,
      untilMs,
      endedBy,
      causes: withTools(causes, { fromMs, untilMs }, tools),
      decisions,
    };
  }
}

type Causes = TurnSilence['causes'];
interface Gap {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The parts of a measured turn's waterfall within the gap; after a hold line that is not all of it. */
function partsOf(waterfall: TurnWaterfall, { fromMs, untilMs }: Gap): Causes {
  const parts: Causes = [
    { cause: 'endpoint', rule: waterfall.endpoint_rule, ms: waterfall.endpoint_ms },
    { cause: 'transcript', rule: null, ms: waterfall.transcript_ms },
    { cause: 'model', rule: null, ms: waterfall.first_token_ms },
    { cause: 'sentence', rule: null, ms: waterfall.first_sentence_ms },
    { cause: 'voice', rule: null, ms: waterfall.first_audio_ms + waterfall.playout_ms },
  ];
  let reachedMs = waterfall.speechEndMs;
  const inGap = parts.map((part) => {
    // Words that arrive after the voice end the speech later than its sound: that is endpointing, too.
    const sinceMs = part.cause === 'endpoint' ? Math.min(fromMs, reachedMs) : reachedMs;
    reachedMs += part.ms;
    return { ...part, ms: Math.min(reachedMs, untilMs) - Math.max(sinceMs, fromMs) };
  });
  return inGap.filter(({ ms }) => ms >= 1);
}

/**
 * A gap without a measured reply at its end: before a hold line, between two parts of an answer, or before a
 * prompt to a silent caller.
 */
function causesOf(
  { fromMs, untilMs, endedBy }: Gap & Pick<NotedSilence, 'endedBy'>,
  decisions: readonly MadeDecision[],
  tools: readonly ToolRun[],
): Causes {
  const quiet = decisions.find(({ about, rule }) => about === 'silence' && INTO_QUIET.has(rule));
  if (quiet) return [{ cause: 'caller_silent', rule: quiet.rule, ms: untilMs - fromMs }];
  // On hold nobody waits for the agent.
  const line = decisions.findLast(({ about }) => about === 'line');
  if (endedBy === 'caller' && line && !line.rule.startsWith('was_'))
    return [{ cause: 'caller_silent', rule: line.rule, ms: untilMs - fromMs }];
  const unheard = decisions.find(({ about, rule }) => about === 'silence' && rule === 'unheard');
  if (unheard) return [{ cause: 'transcript', rule: unheard.rule, ms: untilMs - fromMs }];
  // Until a key was pressed, the detection decided, or an unexpected result arrived, the floor was the
  // caller's.
  const floor = decisions.findLast(
    ({ about, rule }) =>
      about === 'menu' || about === 'answering' || about === 'line' || rule === 'background_result',
  );
  const givenMs = within({ fromMs, untilMs }, floor?.atMs);
  // Words that arrived after they had been given up were still waited for.
  const endpoints = decisions.filter(({ about }) => about === 'endpoint');
  const endpoint = endpoints.find(({ rule }) => rule !== 'no_words') ?? endpoints[0];
  const takenMs = within({ fromMs: givenMs, untilMs }, endpoint?.atMs);
  const last = decisions.findLast(({ about }) => about === 'endpoint' || about === 'transcript');
  if (
    endedBy === 'caller' &&
    last &&
    (last.rule === 'no_words' || last.rule === 'of_ignored_speech' || last.rule.startsWith('dropped_'))
  )
    // The sound was not a turn: the caller was not waiting.
    return [{ cause: 'caller_silent', rule: last.rule, ms: untilMs - fromMs }];
  const failure = decisions.findLast(({ about }) => about === 'failure' || about === 'progress');
  const causes: Causes = [
    { cause: 'caller_silent', rule: floor?.rule ?? null, ms: givenMs - fromMs },
    { cause: 'endpoint', rule: endpoint?.rule ?? null, ms: takenMs - givenMs },
    { cause: tools.length > 0 ? 'answer' : 'model', rule: failure?.rule ?? null, ms: untilMs - takenMs },
  ];
  return causes.filter(({ ms }) => ms >= 1);
}

function within({ fromMs, untilMs }: Gap, ms = fromMs): number {
  return Math.min(untilMs, Math.max(fromMs, ms));
}

/** Time of tools is listed separately: they run within the other parts. */
function withTools(causes: Causes, { fromMs, untilMs }: Gap, tools: readonly ToolRun[]): Causes {
  const runs = tools.map(({ name, fromMs: beganMs, untilMs: endedMs }) => ({
    cause: 'tool' as const,
    rule: name,
    ms: Math.min(untilMs, endedMs ?? untilMs) - Math.max(fromMs, beganMs),
  }));
  return [...causes, ...runs.filter(({ ms }) => ms >= 1)];
}
