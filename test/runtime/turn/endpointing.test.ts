import { describe, expect, it } from 'vitest';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { judgeCompleteness } from '#runtime/turn/machine/endpointing/endpointing.ts';
import { DIGITS } from '#runtime/turn/text/digit-words.ts';
import { HANGING as CUES } from '#runtime/turn/text/grammar-cues.ts';
import { TurnScript } from './turn-script.ts';

describe('completeness of a turn', () => {
  it.each([
    ['I would like a table.', 'punctuation'],
    ['what are your opening hours', 'plain'],
    ['I would like a table and', 'hanging_word'],
    ['yes, um', 'hesitation'],
    ['well, as I said,', 'comma'],
    ['so…', 'hesitation'],
    ['my number is five five five one', 'half_number'],
    ['five five', 'half_number'],
    ['a table for two', 'plain'],
    ['55', 'plain'],
    ['five five five, one two one, two', 'half_number'],
    ['My telephone number is five five five', 'half_number'],
    ['My telephone number is five five five one two three four', 'half_number'],
    ['My telephone number is five five five one two three four.', 'local_number'],
    ['my number is 555 123 4567.', 'punctuation'],
    ['I would like to book a table for', 'hanging_word'],
    ['Could you maybe', 'hanging_word'],
    ['in 1999', 'plain'],
    ['for two', 'plain'],
    ['at seven.', 'punctuation'],
    ['my email is anna at', 'half_email'],
    ['anna at gmail', 'half_email'],
    ['my email is john at\u00a0gmail dot\u00a0com', 'plain'],
    ['my email is anna at gmail dot com', 'plain'],
    ['it is spelled s m i', 'spelling'],
    ['my name is Smith, s m i t h', 'plain'],
    ['my name is Smith, s m i', 'spelling'],
    ['my name is Smith, s m i t h,', 'spelling'],
    ['seven twenty thirty four', 'half_number'],
    ['at twelve thirty', 'plain'],
    ['in nineteen eighty five', 'plain'],
    ['Ich hätte gern einen Tisch und', 'plain'],
  ])('of "%s" is judged by the rule %s', (text, rule) => {
    expect(judgeCompleteness(text, 'en').rule).toBe(rule);
  });

  it.each([
    ['de', 'Ich hätte gern einen Tisch und', 'hanging_word'],
    ['fr', 'je voudrais une table pour', 'hanging_word'],
    ['pl', 'chciałbym stolik i', 'hanging_word'],
    ['ru', 'я хотел бы столик для', 'hanging_word'],
    ['hi', 'मुझे एक टेबल चाहिए और', 'hanging_word'],
    ['ja', '予約したいんですけど', 'hanging_word'],
    ['zh', '我想订一张桌子然后', 'hanging_word'],
    ['zh', '我 想 订 一 张 桌 子', 'plain'],
    ['de', 'meine Nummer ist null eins sieben', 'half_number'],
    ['ar', 'رقمي خمسة خمسة خمسة', 'half_number'],
    ['fr', 'zéro six douze', 'half_number'],
    ['fr', 'zéro six douze trente-quatre cinquante-six vingt et un', 'plain'],
    ['fr', 'une table à dix-neuf heures trente', 'plain'],
    ['es', 'seiscientos doce treinta y cuatro cincuenta y seis', 'half_number'],
    ['de', 'im Jahr zweitausendfünfundzwanzig', 'plain'],
    ['zh', '我的号码是 五五五 五五', 'half_number'],
    ['en', 'my number is five double five one', 'half_number'],
    ['en', 'a table for two to four people', 'plain'],
    ['es', 'mi correo es ana arroba', 'half_email'],
    ['es', 'mi correo es ana arroba gmail punto com', 'plain'],
    ['it', 'la mia email è anna chiocciola', 'half_email'],
    ['de', 'meine e-mail ist', 'half_email'],
    ['en', 'no', 'plain'],
    ['en', 'my name is Ben', 'plain'],
    ['es', 'no', 'plain'],
    ['es', 'yo no', 'hanging_word'],
    ['it', 'no', 'plain'],
    ['pt', 'não', 'plain'],
    ['pl', 'tak', 'plain'],
    ['pl', 'no', 'hesitation'],
    ['cs', 'tak', 'hesitation'],
    ['fr', 'ben', 'hesitation'],
    ['hu', 'no', 'hesitation'],
    ['tr', 'ben', 'hanging_word'],
    ['pl', 'nie', 'plain'],
    ['pl', 'ja nie', 'hanging_word'],
    ['fi', 'ei', 'plain'],
    ['sr', 'не', 'plain'],
    ['ru', 'не', 'hanging_word'],
  ])('in %s of "%s" is judged by the rule %s', (language, text, rule) => {
    expect(judgeCompleteness(text, language).rule).toBe(rule);
  });

  it('is judged by cues and digits of every language an agent can speak', () => {
    const withoutCues = SPEAKING_LANGUAGES.filter((language) => CUES[language] === undefined);
    const withoutDigits = SPEAKING_LANGUAGES.filter((language) => DIGITS[language]?.split(' ').length !== 10);
    expect([withoutCues, withoutDigits]).toEqual([[], []]);
  });
});

/** Time from the end of speech until the turn is taken, for a final that arrives at once. */
function takenAfter(text: string, changes: ConstructorParameters<typeof TurnScript>[0]): number {
  const script = TurnScript.listening(changes).voice(600).take({ type: 'transcript.final', text });
  const endMs = script.nowMs;
  script.after(6_000);
  return (script.all('generate')[0]?.atMs ?? Number.NaN) - endMs;
}

describe('the wait for more words', () => {
  it.each([300, 550, 2_000])(
    'after a complete turn lasts response_wait_ms = %i from the end of speech',
    (responseWaitMs) => {
      expect(takenAfter('Book a table.', { responseWaitMs })).toBe(responseWaitMs);
    },
  );

  it('after an incomplete turn lasts response_max_wait_ms, or 3 × response_wait_ms if that is null', () => {
    expect(takenAfter('book a table and', { responseWaitMs: 500, responseMaxWaitMs: 4_000 })).toBe(4_000);
    expect(takenAfter('book a table and', { responseWaitMs: 500, responseMaxWaitMs: null })).toBe(1_500);
    expect(takenAfter('book a table and', { responseWaitMs: 500, responseMaxWaitMs: 0 })).toBe(500);
  });

  it('depends on eagerness: eager treats a comma as an end, relaxed requires punctuation', () => {
    const waits = { responseWaitMs: 500, responseMaxWaitMs: 1_500 };
    expect(takenAfter('tomorrow,', { ...waits, eagerness: 'eager' })).toBe(500);
    expect(takenAfter('tomorrow,', { ...waits, eagerness: 'balanced' })).toBe(1_500);
    expect(takenAfter('book a table', { ...waits, eagerness: 'balanced' })).toBe(500);
    expect(takenAfter('book a table', { ...waits, eagerness: 'relaxed' })).toBe(1_500);
  });

  it.each([
    [1_200, 'longer', 2_250],
    [300, 'shorter', 1_125],
    [240, 'unchanged, because words have such gaps inside them', 1_500],
  ])('after an incomplete turn adapts to pauses of %i ms inside turns and is %s', (pauseMs, _, waitMs) => {
    const script = TurnScript.listening({ responseMaxWaitMs: null });
    for (const text of ['my name and', 'my street and', 'my address and']) {
      script.voice(600).take({ type: 'transcript.final', text });
      if (text !== 'my address and') script.after(pauseMs);
    }
    const endMs = script.nowMs;
    script.after(4_000);
    expect(Math.round((script.last('generate')?.atMs ?? 0) - endMs)).toBe(waitMs);
  });
});

/**
 * The orderings of speech (s, e), interims (i) and finals (t) that engines produce, after pipecat's list;
 * each is answered exactly once.
 */
const ORDERINGS = [
  'ste',
  'site',
  'st1iest2e',
  'siet',
  'sieit',
  'set',
  'seit',
  'st1et2',
  'set1t2',
  'siet1it2',
  't',
  'it',
  'st1est2e',
  'seset1t2',
  'sief',
  'sitef',
  'setf',
];

describe('voice and words in any order', () => {
  it.each(ORDERINGS)('make one turn with all its words: %s', (ordering) => {
    const script = playOrdering(ordering);
    script.after(2_600);
    expect(script.all('generate')).toHaveLength(1);
    const words = script.asked().at(-1) ?? '';
    expect(words).toMatch(/^user: .*one/);
    if (ordering.includes('t2')) expect(words).toBe('user: one two');
  });

  it('never get two answers to one thought, nor an answer to silence, up to six inputs', () => {
    const orderings = everyOrdering(6);
    expect(orderings.length).toBeGreaterThan(500);
    const wrong = orderings.filter((ordering) => {
      const script = playOrdering(ordering).after(2_600);
      return script.all('generate').length - script.all('discard').length !== (/[it]/.test(ordering) ? 1 : 0);
    });
    expect(wrong).toEqual([]);
  });
});

function playOrdering(ordering: string): TurnScript {
  const script = TurnScript.listening();
  for (const [match] of ordering.matchAll(/[siet]\d?|f/g)) {
    script.after(60);
    const code = match.charAt(0);
    const text = match.charAt(1) === '2' ? 'two' : 'one';
    if (code === 's') script.take({ type: 'voice.started', speechStartMs: script.nowMs });
    if (code === 'e') script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 300 });
    if (code === 'i') script.take({ type: 'transcript.interim', text });
    if (code === 't') script.take({ type: 'transcript.final', text });
    if (code === 'f') script.take({ type: 'transcript.finalised' });
  }
  return script;
}

/** All orders up to a length in which speech starts and ends alternately and has ended by the end. */
function everyOrdering(length: number): string[] {
  const found: string[] = [];
  const grow = (text: string, isTalking: boolean) => {
    if (text !== '' && !isTalking) found.push(text);
    if (text.length === length) return;
    grow(`${text}${isTalking ? 'e' : 's'}`, !isTalking);
    grow(`${text}i`, isTalking);
    grow(`${text}t`, isTalking);
  };
  grow('', false);
  return found;
}

describe('the deadline of a turn', () => {
  it('is not postponed by a slow final, because it counts from the end of speech', () => {
    const script = TurnScript.listening({ responseWaitMs: 500 }).voice(600);
    const endMs = script.nowMs;
    script.after(450).take({ type: 'transcript.final', text: 'book a table' }).after(1_000);
    expect(script.last('generate')?.atMs).toBe(endMs + 500);
  });

  it('is extended for a late final up to its engine’s own limit', () => {
    const script = TurnScript.listening({ responseWaitMs: 500 }).voice(600);
    const endMs = script.nowMs;
    script.after(800).take({ type: 'transcript.final', text: 'book a table' });
    expect(script.last('generate')?.atMs).toBe(endMs + 800);
  });

  it('ends the turn with the interim if no final arrives; a later final is not a second turn', () => {
    const script = TurnScript.listening({ recognition: { has: 'interims', finalWithinMs: 700 } }).voice(600);
    const endMs = script.nowMs;
    script.take({ type: 'transcript.interim', text: 'book a table' }).after(2_000);
    expect(script.last('generate')?.atMs).toBe(endMs + 700);
    script.take({ type: 'transcript.final', text: 'Book a table.' }).after(3_000);
    expect(script.all('generate')).toHaveLength(1);
    expect(script.decisions('transcript').map(({ rule }) => rule)).toEqual(['late_final']);
  });

  it('lets a late final with more words be answered instead, while nothing is audible', () => {
    const script = TurnScript.listening()
      .voice(600)
      .take({ type: 'transcript.interim', text: 'book a table' })
      .after(1_200);
    script.take({ type: 'transcript.final', text: 'book a table for two' });
    expect(script.asked()).toEqual(['user: book a table for two']);
    expect(script.all('discard')).toHaveLength(1);
  });

  it('ends at once when the transcript is finalised', () => {
    const script = TurnScript.listening({ responseWaitMs: 300 }).voice(600);
    const endMs = script.nowMs;
    script
      .take({ type: 'transcript.interim', text: 'book a table' })
      .after(350)
      .take({ type: 'transcript.finalised' });
    expect(script.all('finalise').map(({ atMs }) => atMs)).toEqual([endMs + 200]);
    expect(script.last('generate')?.atMs).toBe(endMs + 350);
  });

  it('lets words that arrive long after their voice be a turn, but not voice without words', () => {
    const script = TurnScript.listening().voice(600).after(5_000);
    expect(script.all('generate')).toHaveLength(0);
    script.take({ type: 'transcript.final', text: 'book a table' });
    expect(script.asked()).toEqual(['user: book a table']);
  });

  it('is recorded with each decision, with its rule and its anchor', () => {
    const script = TurnScript.listening()
      .voice(600)
      .take({ type: 'transcript.final', text: 'my number is 5 5 5' });
    const endMs = script.nowMs;
    script.after(3_000);
    expect(script.decisions('endpoint')).toEqual([
      {
        about: 'endpoint',
        rule: 'half_number',
        anchorMs: endMs,
        deadlineMs: endMs + 1_500,
        rejected: [
          {
            rule: 'take_as_finished',
            deadlineMs: endMs + 500,
            because: 'half_number: completeness 0.1, eagerness balanced',
          },
        ],
      },
    ]);
  });
});

describe('the caller’s further speech', () => {
  it('joins the same turn before that turn ends', () => {
    const script = TurnScript.listening()
      .voice(600)
      .take({ type: 'transcript.final', text: 'book a table' })
      .after(300);
    script.voice(600).take({ type: 'transcript.final', text: 'for two' }).after(3_000);
    expect(script.all('generate')).toHaveLength(1);
    expect(script.asked()).toEqual(['user: book a table for two']);
  });

  it('replaces the pending answer while the agent only thinks: one reply to both', () => {
    const script = TurnScript.listening().say('book a table');
    script.voice(400).take({ type: 'transcript.final', text: 'for two' }).after(1_000);
    expect(script.all('generate').map(({ replyId }) => replyId)).toEqual(['r1', 'r2']);
    expect(script.all('discard').map(({ replyId }) => replyId)).toEqual(['r1']);
    expect(script.asked()).toEqual(['user: book a table for two']);
    expect(script.timeline()).toEqual([]);
    script.answer('Done.');
    expect(script.timeline()).toEqual(['user: book a table for two']);
  });
});
