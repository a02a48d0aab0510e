import { describe, expect, it } from 'vitest';
import { TurnScript } from '#test/runtime/turn/turn-script.ts';

/** Start of voice, interim, final, end of voice: engines and detectors report them in any order. */
const FACTS = ['voice', 'interim', 'final', 'offset'] as const;
type Fact = (typeof FACTS)[number];
const LONGEST = 6;

function* orderings(length: number): Generator<readonly Fact[]> {
  if (length === 0) yield [];
  else for (const before of orderings(length - 1)) for (const fact of FACTS) yield [...before, fact];
}

function take(script: TurnScript, fact: Fact, index: number): void {
  const { nowMs } = script;
  if (fact === 'voice') script.take({ type: 'voice.started', speechStartMs: nowMs });
  else if (fact === 'offset') script.take({ type: 'voice.stopped', speechEndMs: nowMs, voicedMs: 500 });
  else if (fact === 'interim') script.take({ type: 'transcript.interim', text: `please word${index}` });
  else script.take({ type: 'transcript.final', text: `please word${index}` });
}

/** Invariants violated after these facts, each `gapMs` after the previous one. */
function wrongAfter(script: TurnScript, facts: readonly Fact[], gapMs: number): string[] {
  const before = script.all('generate').length;
  facts.forEach((fact, index) => {
    take(script, fact, index);
    script.after(gapMs);
  });
  script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 500 }).after(3_000);
  const asked = script.all('generate').slice(before);
  const discarded = new Set(script.all('discard').map(({ replyId }) => replyId));
  const wrong: string[] = [];
  const hasWords = facts.some((fact) => fact === 'interim' || fact === 'final');
  if (hasWords !== asked.length > 0) wrong.push(`${asked.length} answers`);
  if (asked.filter(({ replyId }) => !discarded.has(replyId)).length > 1) wrong.push('two answers at once');
  const requested = asked.flatMap(({ messages }) => messages.map(({ content }) => content)).join(' ');
  const waits = script.state.waiting.map(({ text }) => text).join(' ');
  facts.forEach((fact, index) => {
    if (fact === 'final' && !`${requested} ${waits}`.includes(`word${index}`))
      wrong.push(`word${index} was lost`);
  });
  return wrong;
}

describe('every ordering of voice, interim, final and end of speech up to length six', () => {
  // Within one breath, and slow enough for a turn to be judged in between. Slower orderings meet the hold
  // line and are covered by the simulated calls.
  it.each([50, 300])('%i ms apart: words are answered once and never lost', (gapMs) => {
    const found: string[] = [];
    for (let length = 1; length <= LONGEST; length++)
      for (const facts of orderings(length)) {
        for (const wrong of wrongAfter(TurnScript.listening(), facts, gapMs))
          found.push(`${facts.join(' ')}: ${wrong}`);
        if (found.length > 10) break;
      }
    expect(found).toEqual([]);
  });
});
