import { describe, expect, it } from 'vitest';
import { called } from './reply-facts.ts';
import { TurnScript } from './turn-script.ts';

describe('speculation', () => {
  const speculating = () =>
    TurnScript.listening({ speculative: true })
      .voice(600)
      .take({ type: 'transcript.interim', text: 'book a table' })
      .after(250);

  it('starts at the judgement, plays and runs nothing, and is used if the words stay the same', () => {
    const script = speculating();
    expect(script.last('generate')).toMatchObject({ replyId: 'r1', isSpeculative: true });
    script.take({ type: 'reply.token', replyId: 'r1' }, called('r1', 'look_up', 'blocking'));
    expect(script.all('play').length + script.all('runTool').length + script.timeline().length).toBe(0);
    script.take({ type: 'transcript.final', text: 'Book a table.' }).after(500);
    expect(script.all('generate')).toHaveLength(1);
    expect(script.all('commit').map(({ replyId }) => replyId)).toEqual(['r1']);
    expect(script.all('runTool')).toHaveLength(1);
  });

  it('is discarded when the words change, and starts at most three times per turn', () => {
    const script = speculating();
    for (const text of [
      'book a table for',
      'book a table for two',
      'book a table for two people',
      'book a table for two people please',
    ])
      script.take({ type: 'transcript.interim', text });
    expect(script.all('generate').filter(({ isSpeculative }) => isSpeculative)).toHaveLength(3);
    script.after(2_000);
    expect(script.last('generate')).toMatchObject({ isSpeculative: false });
  });

  describe('and the final of the recogniser', () => {
    /**
     * The recogniser returned the first turn's final `tookMs` after it was asked for it; the second turn has
     * just been judged.
     */
    const afterFinalIn = (tookMs: number) => {
      const script = speculating()
        .at(600 + 200 + tookMs)
        .take({ type: 'transcript.final', text: 'Book a table.' }, { type: 'transcript.finalised' });
      script
        .after(1_500)
        .answer('For when?')
        .take({ type: 'playout.finished', replyId: 'r1', heard: 'For when?' });
      return script.voice(600).take({ type: 'transcript.interim', text: 'for next' }).after(200);
    };
    const speculations = (script: TurnScript) =>
      script
        .all('generate')
        .flatMap(({ isSpeculative, messages }) => (isSpeculative ? [messages.at(-1)?.content] : []));

    it('waits for it if the last one came quickly, to avoid a start on words that change', () => {
      const script = afterFinalIn(10);
      expect(speculations(script)).toEqual(['book a table']);
      script.after(10).take({ type: 'transcript.final', text: 'For next Friday.' });
      expect(speculations(script)).toEqual(['book a table', 'For next Friday.']);
      expect(script.all('discard')).toEqual([]);
    });

    it('starts on the available words when it does not arrive within 40 ms', () => {
      const script = afterFinalIn(10);
      expect(speculations(script.after(39))).toEqual(['book a table']);
      expect(speculations(script.after(1))).toEqual(['book a table', 'for next']);
    });

    it('no longer waits once a final was late', () => {
      expect(speculations(afterFinalIn(45))).toEqual(['book a table', 'for next']);
    });

    it('no longer waits once a turn ended without a final', () => {
      const script = afterFinalIn(10);
      script
        .after(2_000)
        .answer('Which day?')
        .take({
          type: 'playout.finished',
          replyId: script.last('generate')?.replyId ?? '',
          heard: 'Which day?',
        });
      script.voice(600).take({ type: 'transcript.interim', text: 'friday' }).after(200);
      expect(speculations(script).at(-1)).toBe('friday');
    });
  });
});
