/** The agent's question in a call: what leaves it open, and what the record of a turn says of it. */
import { describe, expect, it } from 'vitest';
import { createDraft } from '#runtime/turn/machine/draft.ts';
import { recordHeard } from '#runtime/turn/machine/floor/floor.ts';
import { asked, DEFAULTS } from './asked.ts';
import { failed } from './reply-facts.ts';
import { TurnScript } from './turn-script.ts';

describe('a caller who goes on', () => {
  it('within a breath of the yes is not cut off', () => {
    const script = asked('Would you like a window seat?').voice(300);
    script.take({ type: 'transcript.final', text: 'Yes.' }).after(290);
    script.voice(300).take({ type: 'transcript.final', text: 'please' }).after(1_000);
    expect(script.asked().at(-1)).toContain('Yes. please');
    expect(script.all('generate')).toHaveLength(2);
  });

  it('before the reply is heard gets one answer to all of it', () => {
    const script = asked('Is that correct?').voice(300);
    script.take({ type: 'transcript.final', text: 'Correct.' }).after(460);
    script.voice(500).take({ type: 'transcript.final', text: 'but not at the back' }).after(1_500);
    expect(script.asked().at(-1)).toContain('Correct. but not at the back');
  });
});

describe('the question stays open', () => {
  it('when the agent asks the caller to repeat', () => {
    const script = asked('Is that correct?');
    const { expects } = script.state;
    script.say('Why?').take(failed('r2'), failed('r3'));
    const replyId = script.last('say')?.replyId ?? '';
    const heard = script.last('say')?.text ?? '';
    script.take({ type: 'playout.started', replyId, wireMs: script.nowMs });
    script.take({ type: 'playout.finished', replyId, heard });
    expect([heard, script.state.expects]).toEqual([script.state.config.phrases.trouble, expects]);
  });

  it.each(['stillThere', 'cannotHear', 'back'] as const)('after the phrase %s, or a part of it', (name) => {
    const script = asked('Your phone number?');
    const phrase = script.state.config.phrases[name];
    for (const heard of [phrase, phrase.slice(0, 6)]) {
      const utterance = {
        replyId: 'r9',
        kind: 'notice',
        turnId: null,
        startedMs: null,
        text: phrase,
      } as const;
      const draft = createDraft(script.state, script.nowMs);
      recordHeard(draft, { ...utterance, isInterruptible: true }, heard);
      expect(draft.expects).toEqual({ kind: 'phone' });
    }
  });

  it('when another worker takes the call, also if a line without a question was said since', () => {
    const history = ['Your phone number?', 'One moment.'].map((content) => ({
      role: 'assistant' as const,
      content,
    }));
    const script = new TurnScript({ resumed: { history, owed: null, lastTurn: 1, lastMessage: 1 } });
    expect(script.state.expects).toEqual({ kind: 'phone' });
  });

  it('not when a colleague has talked with the caller', () => {
    expect(asked('Is that correct?').take({ type: 'colleague.took_over' }).state.expects).toBeNull();
  });

  it('not when what was heard of the question is known only after a colleague took over', () => {
    const script = TurnScript.speaking('Is that correct?', DEFAULTS).take({ type: 'colleague.took_over' });
    const heard = 'Is that correct?';
    script.take({ type: 'playout.cleared', replyId: 'r1', heard, isExact: true });
    expect(script.timeline()).toContain('assistant: Is that correct?');
    expect(script.state.expects).toBeNull();
  });
});

describe('the record of a turn', () => {
  function latencyOf(question: string, answer: string) {
    const script = asked(question).voice(600).take({ type: 'transcript.final', text: answer }).after(2_500);
    script.answer('Thank you.');
    return script.all('reportTurn').at(-1)?.waterfall;
  }

  it('says what was expected and what of it was said', () => {
    expect(latencyOf("What's your phone number?", '555 123 4567')).toMatchObject({
      endpoint_rule: 'as_expected',
      expectation: 'expected 7 to 10 digits, has 10',
      endpoint_ms: 275,
    });
    expect(latencyOf("What's your phone number?", '555 123')).toMatchObject({
      endpoint_rule: 'short_of_expected',
      expectation: 'expected 7 to 10 digits, has 6',
    });
  });

  it('has no expectation where none decided', () => {
    expect(latencyOf('How can I help you?', 'Book a table.')).not.toHaveProperty('expectation');
  });

  it('explains the wait by the judgement that set it, whatever is expected by then', () => {
    const script = asked('Is that correct?').voice(300);
    script.take({ type: 'transcript.final', text: 'Yes, it is.' }).after(250);
    script.state = { ...script.state, expects: null };
    const [endpoint] = script.after(1_000).decisions('endpoint').slice(-1);
    expect([endpoint?.rule, endpoint?.rejected?.[0]?.because]).toEqual([
      'as_expected',
      'as_expected: expected yes or no, has it, eagerness balanced',
    ]);
  });

  it('explains the other moments by it', () => {
    const script = asked('Is that correct?').voice(300);
    script.take({ type: 'transcript.final', text: 'Yes, it is.' });
    script.after(1_000);
    const endpoint = script.all('explain').findLast(({ decision }) => decision.about === 'endpoint');
    expect(endpoint?.decision.rejected?.map(({ because }) => because)).toEqual([
      'as_expected: expected yes or no, has it, eagerness balanced',
      'as_expected: expected yes or no, has it, eagerness balanced',
    ]);
  });
});
