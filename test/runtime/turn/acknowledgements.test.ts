import { describe, expect, it } from 'vitest';
import { readAcknowledgement } from '#runtime/turn/text/acknowledgements.ts';
import { TurnScript } from './turn-script.ts';

const reached = { type: 'voice.reached', voicedMs: 256 } as const;

describe('words that only show that a caller listens', () => {
  it.each([
    ['en', "mm-hm|right, right|okay, sure|Oh, that's really nice, thank you.|yeah I see|all good, sir"],
    ['de', 'mhm ja|ja genau|ach so, okay|das ist ja wirklich schön|sehr gut, vielen Dank|alles klar'],
    ['fr', "d'accord|d’accord, très bien|ah oui je vois|c'est vraiment parfait|super, merci madame"],
    ['es', 'vale, vale|ah, muy bien|eso está muy bien|qué interesante|claro, gracias|ya veo'],
    ['it', "va bene|va bene, va bene|ah, ho capito|è davvero molto bello|d'accordo, grazie mille"],
    ['nl', 'ja hoor|oké, dank u wel|dat klinkt heel goed|ah zo, ja|wat mooi|precies, ja'],
    ['pt', 'tá bom|pois, pois|isso é muito interessante|ah, que bom|sim senhor, obrigada|entendi'],
  ])('in %s are words, set phrases and judgements, joined freely', (language, said) => {
    const texts = said.split('|');
    expect(texts.filter((text) => readAcknowledgement(text, language) !== 'whole')).toEqual([]);
  });

  it.each([
    ['en', "okay but|yes I know, stop|no|wait|thank you|yes please|that's all|that is not good|mm-mm|my|so"],
    ['de', 'ja aber|nein|Moment|danke|das ist falsch|halt|gut dann möchte ich buchen|doch|ja, neee|ach ne'],
    ['fr', "d'accord mais|non|attendez|c'est pas bien|c'est tout|oui et le lundi|merci"],
    ['es', 'sí pero|no|espere|está mal|eso es todo|claro que no|y el lunes|gracias'],
    ['it', 'sì ma|no|aspetti|è sbagliato|è tutto|certo che no|va bene però|grazie'],
    ['nl', 'ja maar|nee|wacht even|dat is fout|dat is alles|nee hoor|wat kost dat|bedankt'],
    ['pt', 'sim mas|não|espere|está errado|é tudo|claro que não|isso não|obrigado'],
  ])('in %s are none of these', (language, said) => {
    const texts = said.split('|');
    expect(texts.filter((text) => readAcknowledgement(text, language) === 'whole')).toEqual([]);
  });

  it.each([
    ['en', 'right, wait|no no|mm I disagree|sure, hold on|true, why|okay two|of course not|nooo|okay John'],
    ['de', 'gut, aber|ja, nee|okay stopp|natürlich nicht|ja zwei|wie bitte|ja, das reicht|sicher nicht'],
    ['fr', 'oui mais non|ah si|bien sûr que non|oui deux|ok attendez|ça va pas|c’est trop|je vois pas'],
    ['es', 'vale para|¿cómo?|¿qué es?|seguro que no|sí dos|ya basta|está bien así|sin embargo|señor'],
    ['it', 'sì ma|così|va bene basta|come?|sicuro di no|sì due|bene allora|ho capito male|ma no'],
    ['nl', 'ja nee|wat?|wat is dat|zeker niet|ja twee|goed genoeg|dat is zo|ach nee|geen interesse'],
    ['pt', 'sim mas|tá bom chega|que|lógico que não|sim dois|boa tarde|é tudo|não sei|mesmo assim'],
  ])('in %s are none of these either, though they begin like them', (language, said) => {
    const texts = said.split('|');
    expect(texts.filter((text) => readAcknowledgement(text, language) === 'whole')).toEqual([]);
  });

  it('may be drawn out, hummed or laughed', () => {
    const texts = 'okaaay|yeahhh|mmmm|hm-hm|hahaha yeah|[laughter]|(laughs) right|*chuckles* [LAUGHTER]';
    expect(texts.split('|').filter((text) => readAcknowledgement(text, 'en') !== 'whole')).toEqual([]);
    expect(readAcknowledgement('[unintelligible speech]', 'en')).toBe('other');
  });

  it('are open as long as the next word can complete them', () => {
    const texts = "that's|that's really|okay I|all|thanks|oh that".split('|');
    expect(texts.filter((text) => readAcknowledgement(text, 'en') !== 'open')).toEqual([]);
    expect(readAcknowledgement("that's wrong", 'en')).toBe('other');
  });

  it('have 24 words at most: more want the floor', () => {
    expect(readAcknowledgement('yeah '.repeat(24), 'en')).toBe('whole');
    expect(readAcknowledgement('yeah '.repeat(25), 'en')).toBe('other');
  });

  it('are known in languages without spaces and without rules for joining', () => {
    expect(readAcknowledgement('はいはい、そうですね', 'ja')).toBe('whole');
    expect(readAcknowledgement('да, конечно', 'ru')).toBe('whole');
    expect(readAcknowledgement('да, но', 'ru')).toBe('other');
  });
});

describe('an acknowledgement that is said word by word', () => {
  /** Each word is recognised `gapMs` after the one before. */
  const saying = (text: string, gapMs: number, changes: ConstructorParameters<typeof TurnScript>[0] = {}) => {
    const script = TurnScript.speaking('The table is booked for two.', changes).after(300);
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256).take(reached);
    const words = text.split(' ');
    for (const index of words.keys())
      script.after(gapMs).take({ type: 'transcript.interim', text: words.slice(0, index + 1).join(' ') });
    return script;
  };

  it('pauses the agent, which goes on once the caller has stopped', () => {
    const script = saying("oh that's really great", 200);
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 1_056 }).after(199);
    expect([script.all('pause').length, script.all('resume').length]).toEqual([1, 0]);
    script.after(1);
    expect([script.all('resume').length, script.all('clear').length]).toEqual([1, 0]);
  });

  it('is not cut off half-said by a slow caller', () => {
    const script = saying("that's really great", 500);
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 1_756 }).after(2_000);
    expect([script.all('resume').length, script.all('clear').length]).toEqual([1, 0]);
  });

  it('keeps the agent paused while more words follow', () => {
    const script = saying('yeah okay I want to cancel', 400);
    expect([script.all('resume').length, script.all('pause').length]).toEqual([1, 1]);
    // It is cut off, which ends the pause of the leg too.
    expect(script.all('clear').map(({ atMs }) => atMs)).toEqual(script.all('resume').map(({ atMs }) => atMs));
  });

  it('does not silence the agent while the voice continues without new words', () => {
    const script = saying('mhm', 100);
    script.after(899);
    expect(script.all('resume')).toHaveLength(0);
    expect(script.after(1).all('resume')).toHaveLength(1);
  });

  it('interrupts the agent as soon as it becomes something else', () => {
    const script = saying('okay sure but', 100);
    expect(script.all('clear').map(({ atMs }) => atMs)).toEqual([script.nowMs]);
  });

  it('interrupts an agent of high sensitivity', () => {
    expect(saying('okay sure', 100, { sensitivity: 'high' }).all('clear')).toHaveLength(1);
  });

  it('does not leave the agent paused if the caller stops in the middle', () => {
    const script = saying("that's", 100);
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 356 });
    script.take({ type: 'transcript.final', text: "that's" });
    expect(script.all('clear')).toHaveLength(1);
  });
});
