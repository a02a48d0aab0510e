import { describe, expect, it } from 'vitest';
import type { Leg, LegCommand } from '#media/leg/leg.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import {
  Consult,
  type ConsultInput,
  type ConsultState,
  type ConsultStep,
  consultStep,
} from '#runtime/calls/consult.ts';
import { consultAnswer, consultPhrases } from '#runtime/calls/consult-phrases.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';

/**
 * Answers to the question whether a person takes a call: a yes, a no, a no that starts as a yes, and a
 * machine.
 */
const ANSWERS: Readonly<Record<string, readonly [yes: string, no: string, yesBut: string, machine: string]>> =
  {
    en: [
      'Yes, go ahead.',
      'No, I’m in a meeting.',
      'Yes, but not now.',
      'Please leave a message after the tone.',
    ],
    zh: ['可以，接过来吧。', '我现在没空。', '好，不过现在不行。', '您拨打的电话无人接听，请留言。'],
    hi: ['हाँ, जोड़ दीजिए।', 'नहीं, मैं व्यस्त हूँ।', 'हाँ, लेकिन अभी नहीं।', 'कृपया बीप के बाद संदेश छोड़ें।'],
    es: ['Sí, claro.', 'No puedo.', 'Sí, pero más tarde.', 'Deje su mensaje después de la señal.'],
    fr: ['Oui, allez-y.', 'Non merci.', 'Oui, mais pas maintenant.', 'Laissez un message après le bip.'],
    ar: ['نعم، تفضل.', 'لا، أنا مشغول.', 'نعم، لكن لاحقًا.', 'اترك رسالة بعد سماع الصافرة.'],
    bn: ['হ্যাঁ, অবশ্যই।', 'না, আমি ব্যস্ত।', 'হ্যাঁ, কিন্তু পরে।', 'বিপের পরে বার্তা রাখুন।'],
    pt: ['Sim, pode passar.', 'Não posso.', 'Claro, mas depois.', 'Deixe a sua mensagem após o sinal.'],
    ru: ['Да, соединяйте.', 'Нет, я занят.', 'Да, но позже.', 'Оставьте сообщение после сигнала.'],
    id: ['Ya, boleh.', 'Tidak bisa.', 'Ya, tapi nanti.', 'Silakan tinggalkan pesan setelah nada.'],
    ja: [
      'はい、つないでください。',
      'いいえ、今は出られません。',
      'はい、でも後でお願いします。',
      '発信音のあとにメッセージをどうぞ。',
    ],
    de: [
      'Ja, gerne.',
      'Nein, keine Zeit.',
      'Ja, aber nicht jetzt.',
      'Bitte hinterlassen Sie eine Nachricht nach dem Ton.',
    ],
    it: ['Sì, va bene.', 'No, non posso.', 'Sì, ma più tardi.', 'Lasciate un messaggio dopo il segnale.'],
  };

describe('the answer of the called person', () => {
  it.each(Object.entries(ANSWERS))('is understood in %s', (language, [yes, no, yesBut, machine]) => {
    const phrases = consultPhrases(language);
    const answers = [yes, no, yesBut, machine, 'Hmmm.'].map((text) => consultAnswer(text, phrases));
    expect(answers).toEqual(['yes', 'no', 'no', 'voicemail', 'unclear']);
  });

  it('is requested in the agent’s language, or in English without lines for that language', () => {
    const questions = Object.keys(ANSWERS).map((language) => consultPhrases(language).question);
    expect(new Set(questions).size).toBe(questions.length);
    for (const language of Object.keys(ANSWERS)) {
      expect(consultPhrases(language).introduction).toMatch(/\{agent\}.*\{number\}|\{number\}.*\{agent\}/);
      expect(consultPhrases(language).introductionWithoutNumber).not.toContain('{number}');
    }
    expect(consultPhrases('et')).toEqual(consultPhrases('en'));
  });
});

describe('a consultation', () => {
  const rules = { confirms: true, phrases: consultPhrases('en') };
  const run = (...inputs: ConsultInput[]): ConsultStep => {
    let state: ConsultState = { is: 'briefing' };
    let step: ConsultStep = { state };
    for (const input of inputs) {
      step = consultStep(rules, state, input);
      state = step.state;
    }
    return step;
  };
  const said = { is: 'said' } as const;
  const silence = { is: 'silence' } as const;
  const heard = (text: string) => ({ is: 'heard', text }) as const;

  it('asks a silent person three times, thanks them and gives up', () => {
    expect(run(said)).toMatchObject({ state: { is: 'waiting', asked: 1 } });
    expect(run(said, silence, said, silence)).toMatchObject({
      state: { is: 'asking', asked: 3 },
      say: rules.phrases.question,
    });
    const last = [said, silence, said, silence, said, silence] as const;
    expect(run(...last)).toMatchObject({ say: rules.phrases.declined });
    expect(run(...last, said)).toMatchObject({ outcome: 'no_answer' });
  });

  it('ignores words before the question, but detects a machine', () => {
    expect(run(heard('Yes, hello?')).outcome).toBeUndefined();
    expect(run(heard('This is the voicemail of Ann.')).outcome).toBe('voicemail');
    expect(run(said, heard('yes')).outcome).toBe('yes');
  });

  it('informs the person that the caller has hung up, even while they consider', () => {
    expect(run(said, { is: 'caller_gone' })).toMatchObject({ say: rules.phrases.callerGone });
    expect(run(said, { is: 'caller_gone' }, said).outcome).toBe('caller_gone');
    expect(run(said, { is: 'caller_gone' }, { is: 'hung_up' }).outcome).toBe('caller_gone');
    expect(run(said, { is: 'hung_up' }).outcome).toBe('hung_up');
  });
});

it('a briefing that cannot be synthesised connects at once, without waiting for the line timeout', async () => {
  const world = new SimulatedClock();
  const sent: LegCommand[] = [];
  const consult = new Consult({
    clock: world,
    leg: {
      inRateHz: 8_000,
      outRateHz: 8_000,
      send: (command: LegCommand) => void sent.push(command),
    } as unknown as Leg,
    rules: { confirms: false, phrases: consultPhrases('en') },
    briefing: 'お客様からのお電話です。',
    synthesizer: {
      id: 'none',
      voices: [],
      synthesise: () => Promise.reject(new Error('never asked')) as never,
    },
    voice: { voiceId: null, language: 'no language', speed: 1 },
    recognizer: {
      open: () => ({ write: () => undefined, finalise: () => undefined, close: () => undefined }),
    } as unknown as Recognizer,
  });
  const startedMs = world.now();
  let outcome = '';
  void consult.outcome.then((ended) => {
    outcome = ended;
  });
  await world.run(() => outcome !== '', startedMs + 60_000);
  expect([outcome, world.now() - startedMs]).toEqual(['yes', 0]);
  expect(sent.map((command) => command.do)).toEqual(['clear']);
});

it('the audible part of an interrupted briefing is played before the connection', async () => {
  const sent: LegCommand[] = [];
  const consult = new Consult({
    clock: new SimulatedClock(),
    leg: {
      inRateHz: 8_000,
      outRateHz: 8_000,
      send: (command: LegCommand) => void sent.push(command),
    } as unknown as Leg,
    rules: { confirms: false, phrases: consultPhrases('en') },
    briefing: 'The caller wants a refund.',
    synthesizer: {
      id: 'breaking',
      voices: [],
      async *synthesise() {
        yield { samples: new Int16Array(8_000), sampleRateHz: 8_000, words: null };
        throw new Error('the line is gone');
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    recognizer: {
      open: () => ({ write: () => undefined, finalise: () => undefined, close: () => undefined }),
    } as unknown as Recognizer,
  });
  await expect
    .poll(() => sent.map((command) => command.do === 'play' && command.last))
    .toEqual([false, true]);
  consult.onLegEvent({ type: 'playout.finished', replyId: 'consult-1', atMs: 1_000 });
  await expect(consult.outcome).resolves.toBe('yes');
});
