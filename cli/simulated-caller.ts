/**
 * A caller whose moves a language model decides while the call runs. The caller hears by the transcript of
 * the call: what the agent said, as far as it was heard. The model is asked through the API.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { type Line, lineOf, type SpokenLine } from '#caller/scene.ts';
import type { CallerMind, GoalOutcome, Move } from '#caller/take-turns.ts';
import { callerMove, MOST_SHOWN_TURNS, MOST_TURN_CHARS } from '#protocol/test-call-question.ts';
import type { VoiceTest } from '#protocol/voice-test.ts';
import type { Api, Json } from './api.ts';
import { askOfTestCall } from './ask-of-test-call.ts';

/** How often the transcript is read until what was heard is in it, and how long at most. */
const READ_MS = 150;
const UNREAD_MS = 3_000;
/** How long at most if only something that began before the caller's last turn is new in it. */
const EARLIER_MS = 1_000;

/** A line that ends a conversation wants no answer, and is not counted among those without one. */
const LAST_WORDS = 'backchannel';

/** Where the API has a call: its session, and questions to a model about it. */
export interface CallPaths {
  readonly session: string;
  readonly questions: string;
}

/** Who calls, and how they speak. */
export interface SimulatedCallerOptions {
  readonly api: Pick<Api, 'get' | 'post'>;
  readonly paths: CallPaths;
  readonly caller: VoiceTest['caller'];
  readonly speak: (text: string) => Promise<SpokenLine>;
}

/** Words of one side, ms since the call was answered. */
interface Turn {
  readonly role: 'agent' | 'caller';
  readonly text: string;
  readonly atMs: number;
}

type Situation = Parameters<CallerMind['next']>[1];
type Conversation = Parameters<CallerMind['next']>[0];

/** The mind of one call. */
export class SimulatedCaller implements CallerMind {
  /** How each conversation ended. */
  readonly outcomes: GoalOutcome[] = [];
  readonly #options: SimulatedCallerOptions;
  readonly #own: Turn[] = [];
  readonly #closed = new AbortController();
  #answeredMs = 0;
  /** Turns of the agent that were in the transcript when it was last read. */
  #read = 0;

  constructor(options: SimulatedCallerOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#answeredMs = performance.now();
  }

  note(said: string): void {
    this.#own.push({ role: 'caller', text: said, atMs: performance.now() - this.#answeredMs });
  }

  ended(outcome: GoalOutcome): void {
    this.outcomes.push(outcome);
  }

  /** The call is over: nothing is asked any more. */
  close(): void {
    this.#closed.abort();
  }

  /** Throws `CommandError` for a refusal of the API. */
  async next({ goal }: Conversation, situation: Situation): Promise<Move | null> {
    const { movesLeft, isOvertaken } = situation;
    const heard = await this.#heard(situation);
    if (heard === null) return null;
    const { caller, api, paths } = this.#options;
    const answer = await askOfTestCall(api, `${paths.questions}/moves`, {
      goal,
      ...(caller.persona === undefined ? {} : { persona: caller.persona }),
      ...(caller.model === undefined ? {} : { model: caller.model }),
      turns: shown([...heard, ...this.#own]),
      moves_left: movesLeft,
    });
    if (answer === null || this.#closed.signal.aborted || isOvertaken()) return null;
    return this.#spoken(callerMove.parse(answer));
  }

  /** What the agent has said; null once it is overtaken. */
  async #heard({ hasHeard, isOvertaken }: Situation): Promise<Turn[] | null> {
    const { api, paths } = this.#options;
    const sinceMs = performance.now();
    for (;;) {
      const session: Json = await api.get(paths.session);
      if (this.#closed.signal.aborted || isOvertaken()) return null;
      const heard = turnsOfAgent(session);
      const isAnswerDue = hasHeard || session.started_at === null;
      if (performance.now() - sinceMs >= this.#patienceMs(heard, isAnswerDue)) {
        this.#read = heard.length;
        return heard;
      }
      await sleep(READ_MS);
    }
  }

  /** How long the answer to the caller's last turn is awaited in the transcript, ms: not if it is there. */
  #patienceMs(heard: readonly Turn[], isAnswerDue: boolean): number {
    const newestMs = heard.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    const saidMs = this.#own.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    if (heard.length <= this.#read) return isAnswerDue ? UNREAD_MS : 0;
    // Only the reply that the caller interrupted may be there yet; or the agent has spoken on.
    return newestMs > saidMs ? 0 : EARLIER_MS;
  }

  async #spoken({ do: does, text, keys, cut_in, goal }: z.output<typeof callerMove>): Promise<Move> {
    switch (does) {
      case 'say': {
        const line = await this.#line(text, goal === 'open' ? 'turn' : LAST_WORDS);
        const cutIn = await this.#line(cut_in, 'interruption');
        // Words that the voice cannot speak are as good as none.
        return line ? { do: 'say', goal, line, cutIn } : { do: 'wait', goal };
      }
      case 'press':
        return { do: 'press', goal, digits: keys ?? '' };
      case 'hang_up':
        return { do: 'hang_up', goal, line: await this.#line(text, LAST_WORDS) };
      default:
        return { do: 'wait', goal };
    }
  }

  async #line(text: string | null, means: Line['means']): Promise<Line | null> {
    if (text === null) return null;
    const { caller, speak } = this.#options;
    return lineOf(text, means, await speak(text), caller.voice_db);
  }
}

function turnsOfAgent({ items, started_at: startedAt }: Json): Turn[] {
  const startedMs = Date.parse(startedAt ?? '');
  return items
    .filter(({ type, role }: Json) => type === 'message' && role === 'assistant')
    .map(({ content, created_at }: Json) => ({
      role: 'agent',
      text: content,
      // Both sides count from the answer, so their clocks need not agree.
      atMs: Date.parse(created_at) - startedMs,
    }));
}

/** The turns in order, each side's in a row as one. */
function shown(turns: readonly Turn[]): { readonly role: Turn['role']; readonly text: string }[] {
  const joined: { role: Turn['role']; text: string }[] = [];
  for (const { role, text } of turns.toSorted((one, other) => one.atMs - other.atMs)) {
    const last = joined.at(-1);
    if (last?.role === role) last.text += ` ${text}`;
    else joined.push({ role, text });
  }
  return joined
    .slice(-MOST_SHOWN_TURNS)
    .map(({ role, text }) => ({ role, text: text.slice(-MOST_TURN_CHARS) }));
}
