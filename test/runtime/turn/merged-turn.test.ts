import { describe, expect, it } from 'vitest';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { TurnScript } from './turn-script.ts';

const { hold } = phrasesFor('en');
const typed = (text: string, wantsAudio: boolean): TurnFact => ({ type: 'user.message', text, wantsAudio });

/** The caller has asked for a table, taken at 1,100; nothing is heard of the answer. */
function asked(changes: ConstructorParameters<typeof TurnScript>[0] = {}): TurnScript {
  const script = TurnScript.listening(changes)
    .voice(600)
    .take({ type: 'transcript.final', text: 'book a table.' });
  return script.after(500);
}

/** When the hold line was said. */
const heldAtMs = (script: TurnScript) =>
  script.all('say').flatMap(({ atMs, text }) => (text === hold ? [atMs] : []));

describe('more is said, typed or keyed before the answer: one answer to both', () => {
  it('who has spoken hears it, although a message beside asks for no audio', () => {
    const script = asked().take(typed('for two', false));
    expect(script.asked()).toEqual(['user: book a table. for two']);
    expect(script.last('generate')).toMatchObject({ isSpoken: true });
  });

  it('…also when the message comes while the agent is being cut off by those words', () => {
    const script = TurnScript.speaking('The table is booked for two.').after(500);
    script.voice(700).take({ type: 'transcript.final', text: 'no, for four people please.' }).after(600);
    expect(script.state.phase.is).toBe('clearing');
    script.take(typed('at seven', false), {
      type: 'playout.cleared',
      replyId: 'r1',
      heard: 'The table',
      isExact: true,
    });
    expect(script.asked().at(-1)).toBe('user: no, for four people please. at seven');
    expect(script.last('generate')).toMatchObject({ isSpoken: true });
  });

  it('who only types is answered in writing still', () => {
    const script = TurnScript.listening().take(typed('book a table', false), typed('for two', false));
    expect(script.asked()).toEqual(['user: book a table for two']);
    expect(script.last('generate')).toMatchObject({ isSpoken: false });
  });

  it('a message does not begin the wait anew: the word that bridges it comes 3 s after the end of speech', () => {
    const script = asked().after(1_400).take(typed('for two', true)).after(5_000);
    expect(heldAtMs(script)).toEqual([3_600]);
  });

  it('…nor do keys pressed before the turn was taken, whose entry ends after it', () => {
    const keypad = { terminator: '#', interDigitMs: 2_000 };
    const script = TurnScript.listening({ keypad })
      .voice(600)
      .take({ type: 'transcript.final', text: 'my number is.' });
    script.after(400).take({ type: 'digit.pressed', digit: '1' }).after(7_000);
    expect(script.all('generate').map(({ atMs }) => atMs)).toEqual([1_100, 3_000]);
    expect(heldAtMs(script)).toEqual([3_600]);
  });

  it('new speech does: nobody waits while they talk', () => {
    const script = asked()
      .after(900)
      .voice(600)
      .take({ type: 'transcript.final', text: 'for two.' })
      .after(5_000);
    expect(heldAtMs(script)).toEqual([5_600]);
  });
});

describe('a final that says more than the interim its turn was taken on', () => {
  /** Taken on an interim, the last moment its final is awaited past. */
  function takenOnInterim(): TurnScript {
    const script = TurnScript.listening()
      .voice(600)
      .take({ type: 'transcript.interim', text: 'book a table.' })
      .after(1_000);
    expect(script.asked()).toEqual(['user: book a table.']);
    return script;
  }

  it('replaces it, and keeps what was typed behind it', () => {
    const script = takenOnInterim().take(typed('at seven', true), {
      type: 'transcript.final',
      text: 'book a table for two.',
    });
    expect(script.asked()).toEqual(['user: book a table for two. at seven']);
  });

  it('changes nothing of what the agent has gone on to since', () => {
    const script = takenOnInterim()
      .answer('Booked.')
      .take({ type: 'playout.finished', replyId: 'r1', heard: 'Booked.' });
    script.take(typed('thanks', true), { type: 'transcript.final', text: 'book a table for two.' });
    expect(script.asked().at(-1)).toBe('user: thanks');
  });
});
