import { describe, expect, it } from 'vitest';
import { playScene } from '#caller/play-scene.ts';
import { type Line, prepareScene, type SceneFile } from '#caller/scene.ts';
import type { CallerMind, GoalOutcome, GoalState, Move } from '#caller/take-turns.ts';
import { ScriptedLine } from './scripted-line.ts';

type Conversation = Extract<SceneFile['steps'][number], { do: 'converse' }>;

const GOAL = { do: 'converse', goal: 'a table for four', quiet_ms: 500 } as const;
/** Every line takes this long, ms. */
const LINE_MS = 800;

function line(text: string, means: Line['means'] = 'turn'): Line {
  return { text, means, samples: new Int16Array(8 * LINE_MS), words: [] };
}

function say(text: string, goal: GoalState = 'open', cutIn: string | null = null): Move {
  return { do: 'say', goal, line: line(text), cutIn: cutIn === null ? null : line(cutIn, 'interruption') };
}

/** Makes these moves in order, and then waits; keeps what it is told. */
class ScriptedMind implements CallerMind {
  readonly noted: string[] = [];
  readonly outcomes: GoalOutcome[] = [];
  readonly movesLeft: number[] = [];
  readonly hasHeard: boolean[] = [];
  readonly #moves: (Move | (() => Move))[];

  constructor(...moves: (Move | (() => Move))[]) {
    this.#moves = moves;
  }

  begin(): void {
    this.noted.push('(answered)');
  }

  note(said: string): void {
    this.noted.push(said);
  }

  ended(outcome: GoalOutcome): void {
    this.outcomes.push(outcome);
  }

  async next(_: unknown, { movesLeft, hasHeard }: Parameters<CallerMind['next']>[1]): Promise<Move> {
    this.movesLeft.push(movesLeft);
    this.hasHeard.push(hasHeard);
    const move = this.#moves.shift() ?? { do: 'wait', goal: 'open' };
    return typeof move === 'function' ? move() : move;
  }
}

/** The agent answers each line 300 ms after its end. */
async function play(
  mind: ScriptedMind,
  {
    agent = new ScriptedLine(100),
    step = {},
    after = [],
  }: { agent?: ScriptedLine; step?: Partial<Conversation>; after?: SceneFile['steps'] } = {},
): Promise<(readonly [string, string])[]> {
  const said: (readonly [string, string])[] = [];
  const scene = prepareScene({ name: 'conversation', steps: [{ ...GOAL, ...step }, ...after] });
  const listener = {
    onLine: undefined,
    onSaid: ({ text, means }: Line) => {
      said.push([text, means]);
      agent.answerIn(300);
    },
  };
  await playScene(scene, agent, listener, mind);
  return said;
}

describe('a conversation with a goal', () => {
  it('goes on until the goal is reached, and then to the next step', async () => {
    const mind = new ScriptedMind(say('A table, please.'), say('For four.'), say('Thank you.', 'reached'));
    const agent = new ScriptedLine(100);
    const said = await play(mind, { agent, after: [{ do: 'press', digits: '5#' }] });
    expect(said.map(([text]) => text)).toEqual(['A table, please.', 'For four.', 'Thank you.']);
    expect(mind.outcomes).toEqual(['reached']);
    expect(mind.movesLeft).toEqual([12, 11, 10]);
    expect(agent.pressed).toEqual(['5#']);
  });

  it('tells its mind everything that the caller says or presses, in order', async () => {
    const mind = new ScriptedMind({ do: 'press', goal: 'open', digits: '4#' }, say('Thanks.', 'reached'));
    await play(mind);
    expect(mind.noted).toEqual(['(answered)', '(presses 4#)', 'Thanks.']);
  });

  it('waits until the agent has been silent for `quiet_ms` before each move', async () => {
    const agent = new ScriptedLine(2_000);
    let askedMs = 0;
    const mind = new ScriptedMind(() => {
      askedMs = agent.nowMs;
      return say('Hello.', 'reached');
    });
    await play(mind, { agent });
    expect(askedMs).toBe(3_500);
  });

  it('tells its mind whether the agent was heard since the last move', async () => {
    const mind = new ScriptedMind({ do: 'wait', goal: 'open' }, say('Hello?', 'reached'));
    await play(mind);
    expect(mind.hasHeard).toEqual([true, false]);
  });

  it('ends after its most moves', async () => {
    const mind = new ScriptedMind(say('One.'), say('Two.'), say('Three.'));
    const said = await play(mind, { step: { max_lines: 2 } });
    expect(said.map(([text]) => text)).toEqual(['One.', 'Two.']);
    expect(mind.outcomes).toEqual(['max_lines']);
  });

  it('and the call end when the caller hangs up', async () => {
    const mind = new ScriptedMind({ do: 'hang_up', goal: 'open', line: line('Goodbye.') });
    const agent = new ScriptedLine(100);
    const said = await play(mind, { agent, after: [{ do: 'press', digits: '1' }] });
    expect([said.map(([text]) => text), agent.pressed]).toEqual([['Goodbye.'], []]);
    expect(mind.outcomes).toEqual(['gave_up']);
  });

  it('that is refused says so', async () => {
    const mind = new ScriptedMind({ do: 'hang_up', goal: 'refused', line: null });
    await play(mind);
    expect(mind.outcomes).toEqual(['refused']);
  });

  it('makes no move that the agent has overtaken by speaking on', async () => {
    const agent = new ScriptedLine(100);
    const overtaken = () => {
      agent.answerIn(0);
      agent.nowMs += 20;
      return say('Too late.');
    };
    const mind = new ScriptedMind(overtaken, say('Now.', 'reached'));
    const said = await play(mind, { agent });
    expect(said.map(([text]) => text)).toEqual(['Now.']);
  });

  it('ends even if the agent overtakes every move', async () => {
    const agent = new ScriptedLine(100);
    const overtaken = () => {
      agent.answerIn(0);
      agent.nowMs += 20;
      return say('Too late.');
    };
    const mind = new ScriptedMind(...Array.from({ length: 100 }, () => overtaken));
    expect(await play(mind, { agent, step: { max_lines: 3 } })).toEqual([]);
    expect(mind.movesLeft).toHaveLength(9);
  });

  it('interrupts the answer to a line with other words', async () => {
    const mind = new ScriptedMind(say('Your hours?', 'open', 'Stop, a table.'), say('Thanks.', 'reached'));
    expect(await play(mind)).toEqual([
      ['Your hours?', 'turn'],
      ['Stop, a table.', 'interruption'],
      ['Thanks.', 'turn'],
    ]);
  });

  it('leaves out an interruption of an agent that says nothing', async () => {
    const mind = new ScriptedMind(say('Hello?', 'open', 'Stop!'));
    const scene = prepareScene({ name: 's', steps: [{ ...GOAL, max_lines: 1, timeout_ms: 1_000 }] });
    const said: string[] = [];
    const listener = { onLine: undefined, onSaid: ({ text }: Line) => void said.push(text) };
    await playScene(scene, new ScriptedLine(100), listener, mind);
    expect(said).toEqual(['Hello?']);
  });

  it('lets an impatient caller ask again while the agent is silent', async () => {
    const mind = new ScriptedMind(say('Thanks.', 'reached'));
    const impatient = { after_ms: 1_000, text: 'Hello?', times: 2 };
    const said = await play(mind, { agent: new ScriptedLine(), step: { impatient } });
    expect(said.map(([text]) => text)).toEqual(['Hello?', 'Thanks.']);
  });

  it('needs a mind', async () => {
    const scene = prepareScene({ name: 's', steps: [GOAL] });
    const listener = { onLine: undefined, onSaid: () => undefined };
    await expect(playScene(scene, new ScriptedLine(), listener)).rejects.toThrow(/needs a model/);
  });
});
