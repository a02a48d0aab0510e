import { describe, expect, it } from 'vitest';
import { TurnScript } from './turn-script.ts';

const ASKED = 'There is a table at eight. Shall I book it?';
const REPLY = `${ASKED} It is on the terrace, with a view of the river, and you may bring a dog.`;

/** The caller begins to speak once the agent has said `before`. */
function over(before: string, text: string, changes: ConstructorParameters<typeof TurnScript>[0] = {}) {
  const script = TurnScript.speaking(REPLY, changes).after(300);
  script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: before.length });
  script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256);
  script.take({ type: 'voice.reached', voicedMs: 256 }, { type: 'transcript.interim', text });
  script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 256 });
  return script.after(100).take({ type: 'transcript.final', text });
}

/** A voice without words begins once the agent has said `before`, and goes on. */
function noise(before: string) {
  const script = TurnScript.speaking(REPLY).after(300);
  script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: before.length });
  script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256);
  return script.take({ type: 'voice.reached', voicedMs: 256 });
}

describe('a yes over the agent', () => {
  it('answers the question after which the agent goes on: it is a turn', () => {
    const script = over(`${ASKED} It is on`, 'Yes, sure.');
    expect(script.decisions('interruption').at(-1)?.rule).toBe('answer');
    script.take({ type: 'playout.cleared', replyId: 'r1', heard: `${ASKED} It is on`, isExact: true });
    expect(script.after(1_000).asked()).toEqual([
      'user: book a table',
      `assistant: ${ASKED} It is on […]`,
      'user: Yes, sure.',
    ]);
  });

  it('answers a question from its last words', () => {
    expect(over('There is a table at eight. Shall I', 'yes').all('clear')).toHaveLength(1);
  });

  it.each([
    ['before the question', 'There is a', 'yes'],
    ['well after it', `${ASKED} It is on the terrace, with a view`, 'yes'],
    ['as a hum', `${ASKED} It is`, 'mhm'],
  ])('%s only shows that the caller listens', (_when, before, text) => {
    const script = over(before, text).after(2_000);
    expect([script.all('clear').length, script.all('resume').length]).toEqual([0, 1]);
  });

  it('only shows that the caller listens if the agent asked for something else', () => {
    const reply = "What's your name? Please take your time, there is no hurry at all.";
    const script = TurnScript.speaking(reply).after(300);
    script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: 25 });
    script.voice(300).take({ type: 'transcript.final', text: 'okay' }).after(2_000);
    expect(script.all('clear')).toHaveLength(0);
  });

  it('only shows that the caller listens behind a tag, after which the agent goes on', () => {
    const reply = 'First open the settings, okay? Then choose the second entry from the top of the list.';
    const yes = (said: string) => {
      const script = TurnScript.speaking(said).after(300);
      script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: 23 });
      return script.voice(300).take({ type: 'transcript.final', text: 'sure' }).after(2_000).all('clear')
        .length;
    };
    expect([yes(reply), yes('First open the settings, okay?')]).toEqual([0, 1]);
  });

  it('is judged by what the agent says when it comes, not when a noise before it began', () => {
    const script = noise(ASKED).after(2_500);
    script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: REPLY.length - 20 });
    script.take({ type: 'transcript.interim', text: 'yes' }).after(2_000);
    expect([script.all('pause').length, script.all('clear').length]).toEqual([1, 0]);
  });

  it('answers a question that the agent asks during a noise', () => {
    const script = noise('There is').after(2_500);
    script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: ASKED.length });
    expect(script.take({ type: 'transcript.interim', text: 'yes' }).all('clear')).toHaveLength(1);
  });

  it('that was said before a question answers it no more if the recogniser repeats it', () => {
    const script = noise('There is').take({ type: 'transcript.interim', text: 'yes' }).after(2_500);
    script.take({ type: 'playout.progressed', replyId: 'r1', heardChars: ASKED.length });
    script.take({ type: 'transcript.interim', text: 'Yes.' }).after(2_000);
    expect(script.all('clear')).toHaveLength(0);
  });

  it('is left to the settings: of an ignored phrase nothing is heard', () => {
    const script = over(`${ASKED} It is`, 'yes', { ignorePhrases: ['yes'] }).after(2_000);
    expect(script.all('clear')).toHaveLength(0);
  });

  it('is answered afterwards if nothing may interrupt', () => {
    const script = over(`${ASKED} It is on`, 'Yes, sure.', { interruptible: false }).after(2_000);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: REPLY }).after(1_000);
    expect([script.all('clear').length, script.asked().at(-1)]).toEqual([0, 'user: Yes, sure.']);
  });
});

describe('a yes while the agent thinks', () => {
  const asked = (changes: ConstructorParameters<typeof TurnScript>[0] = {}) => {
    const script = TurnScript.speaking(ASKED, changes).after(2_000);
    return script.take({ type: 'playout.finished', replyId: 'r1', heard: ASKED }).after(500);
  };

  it('answers its question, which other words of the caller have left open', () => {
    const script = asked().say('let me think').voice(300).take({ type: 'transcript.final', text: 'Yes.' });
    expect(script.after(1_000).asked().at(-1)).toBe('user: let me think Yes.');
  });

  it('is dropped if it is an ignored phrase', () => {
    const script = asked({ ignorePhrases: ['yes'] })
      .say('let me think')
      .voice(300);
    script.take({ type: 'transcript.final', text: 'Yes.' });
    expect(script.after(1_000).asked().at(-1)).toBe('user: let me think');
  });

  it('is dropped after an answer', () => {
    const script = asked().say('yes do that').voice(300);
    script.take({ type: 'transcript.final', text: 'Yeah, okay.' });
    expect(script.after(1_000).asked().at(-1)).toBe('user: yes do that');
  });
});
