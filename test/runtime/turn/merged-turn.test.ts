import { describe, expect, it } from 'vitest';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { TurnScript } from './turn-script.ts';

const { hold } = phrasesFor('en');
const typed = (text: string, wantsAudio: boolean): TurnFact => ({ type: 'user.message', text, wantsAudio });

/** The caller has asked for a table, a turn taken at 1,100; nothing of the answer has been heard. */
function asked(changes: ConstructorParameters<typeof TurnScript>[0] = {}): TurnScript {
  const script = TurnScript.listening(changes)
    .voice(600)
    .take({ type: 'transcript.final', text: 'book a table.' });
  return script.after(500);
}

/** When the hold line was said. */
const heldAtMs = (script: TurnScript) =>
  script.all('say').flatMap(({ atMs, text }) => (text === hold ? [atMs] : []));

describe('further speech, messages or keys before the answer get one answer to everything', () => {
  it('a caller who has spoken hears the answer, even if a message with it asks for no audio', () => {
    const script = asked().take(typed('for two', false));
    expect(script.asked()).toEqual(['user: book a table. for two']);
    expect(script.last('generate')).toMatchObject({ isSpoken: true });
  });

  it('the same applies when the message arrives while those words interrupt the agent', () => {
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

  it('a caller who only types is still answered in writing', () => {
    const script = TurnScript.listening().take(typed('book a table', false), typed('for two', false));
    expect(script.asked()).toEqual(['user: book a table for two']);
    expect(script.last('generate')).toMatchObject({ isSpoken: false });
  });

  it('a message does not restart the wait: the hold line is said 3 s after the end of speech', () => {
    const script = asked().after(1_400).take(typed('for two', true)).after(5_000);
    expect(heldAtMs(script)).toEqual([3_600]);
  });

  it('keys pressed before the turn was taken do not restart it either, if the entry ends later', () => {
    const keypad = { terminator: '#', interDigitMs: 2_000 };
    const script = TurnScript.listening({ keypad })
      .voice(600)
      .take({ type: 'transcript.final', text: 'my number is.' });
    script.after(400).take({ type: 'digit.pressed', digit: '1' }).after(7_000);
    expect(script.all('generate').map(({ atMs }) => atMs)).toEqual([1_100, 3_000]);
    expect(heldAtMs(script)).toEqual([3_600]);
  });

  it('new speech restarts the wait', () => {
    const script = asked()
      .after(900)
      .voice(600)
      .take({ type: 'transcript.final', text: 'for two.' })
      .after(5_000);
    expect(heldAtMs(script)).toEqual([5_600]);
  });
});

describe('a final with more words than the interim its turn was taken on', () => {
  /** A turn taken on an interim, after the wait for its final has expired. */
  function takenOnInterim(): TurnScript {
    const script = TurnScript.listening()
      .voice(600)
      .take({ type: 'transcript.interim', text: 'book a table.' })
      .after(1_000);
    expect(script.asked()).toEqual(['user: book a table.']);
    return script;
  }

  it('replaces the interim, and keeps later typed messages', () => {
    const script = takenOnInterim().take(typed('at seven', true), {
      type: 'transcript.final',
      text: 'book a table for two.',
    });
    expect(script.asked()).toEqual(['user: book a table for two. at seven']);
  });

  it('does not change anything the agent has moved on to', () => {
    const script = takenOnInterim()
      .answer('Booked.')
      .take({ type: 'playout.finished', replyId: 'r1', heard: 'Booked.' });
    script.take(typed('thanks', true), { type: 'transcript.final', text: 'book a table for two.' });
    expect(script.asked().at(-1)).toBe('user: thanks');
  });
});
