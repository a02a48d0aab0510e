import { describe, expect, it } from 'vitest';
import { TurnScript } from './turn-script.ts';

/**
 * The agent had said this much of "The table is booked for two." when the connection broke; the caller
 * returns after 3 s.
 */
function backAfterBreak(): TurnScript {
  const script = TurnScript.speaking();
  const { replyId } = script.last('play') ?? { replyId: '' };
  script
    .after(400)
    .take({ type: 'leg.lost' }, { type: 'playout.cleared', replyId, heard: 'The table', isExact: true });
  return script.after(3_000).take({ type: 'leg.replaced' }, { type: 'call.connected' });
}

const typed = (text: string) => ({ type: 'user.message', text, wantsAudio: true }) as const;

describe('a caller who reconnects after a lost connection', () => {
  it('hears the agent resume where it was interrupted', () => {
    const script = backAfterBreak();
    expect(script.asked().at(-1)).toMatch(
      /^user: \[The connection broke off .* Go on where you were cut off/,
    );
    expect(script.asked().at(-2)).toMatch(/^assistant: The table/);
  });

  it('is answered, and hears nothing else, when they speak before the agent resumes', () => {
    const script = backAfterBreak();
    const { replyId: goingOn } = script.last('generate') ?? {};
    script.after(50).take(typed('When do you open?'));
    expect(script.all('discard').map(({ replyId }) => replyId)).toContain(goingOn);
    expect(script.asked().at(-1)).toBe('user: When do you open?');
    script.answer('At noon.');
    const { replyId = '' } = script.last('generate') ?? {};
    script.after(900).take({ type: 'playout.finished', replyId, heard: 'At noon.' });
    expect(script.state.phase.is).toBe('listening');
    expect(script.state.waiting).toEqual([]);
  });
});

describe('a caller who leaves a room and joins again', () => {
  it('hears the rest of the reply, which waits on the leg', () => {
    const script = TurnScript.speaking();
    const { replyId = '' } = script.last('play') ?? {};
    script.after(400).take({ type: 'leg.lost' });
    script.after(14_000).take({ type: 'call.connected' });
    expect(script.state.phase).toMatchObject({ is: 'speaking', utterance: { replyId } });
    expect([...script.all('clear'), ...script.all('discard')]).toEqual([]);
    script.after(1_000).take({ type: 'playout.finished', replyId, heard: 'The table is booked for two.' });
    expect(script.state.phase.is).toBe('listening');
  });

  it('is not silent meanwhile: neither asked whether they are there nor hung up on', () => {
    const script = TurnScript.listening({ reengage: true, hangupAfterMs: 20_000 }).at(5_000);
    script.take({ type: 'leg.lost' });
    script.after(14_000).take({ type: 'call.connected' });
    expect(script.state.phase.is).toBe('listening');
    expect(script.asked()).toEqual([]);
    // The silence is counted anew.
    script.after(6_000);
    expect(script.asked()).toEqual([]);
  });
});

describe('the question whether the caller is still there', () => {
  it('is withdrawn when the caller speaks before it is heard', () => {
    const script = TurnScript.listening({ reengage: true, hangupAfterMs: 20_000 }).at(8_000);
    expect(script.asked().at(-1)).toMatch(/said nothing for a while/);
    script.say('I am here');
    expect(script.asked().at(-1)).toBe('user: I am here');
    expect(script.decisions('silence').map(({ rule }) => rule)).toContain('caller_first');
  });
});
