import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { resample } from '#media/dsp/pcm.ts';
import { type FliteSynthesizer, openFlite } from '#media/speech/local/flite.ts';
import { keytermGrammar, readDictionary } from '#media/speech/local/keyterm-grammar.ts';
import { findPocketsphinx, openPocketsphinx } from '#media/speech/local/pocketsphinx.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { describeNeeds } from '#test/needs.ts';
import { buzz, expectStalled, Recording, recognizerConforms, silence } from './conformance.ts';
import { patientClock } from './vendor-conformance.ts';

// Real programs are run, and a loaded machine is slow.
vi.setConfig({ testTimeout: 180_000 });

const everything = { has: async () => true };

describe('the grammar of the keyterms', () => {
  it('makes every keyterm a whole utterance, with digits spelt out and chained', async () => {
    const grammar = await keytermGrammar(['Book a table', '7', "o'clock"], everything);
    expect(grammar).toContain("<phrase> = book a table | seven | o'clock;");
    expect(grammar).toContain('<digit> = seven;');
  });

  it('removes grammar syntax from keyterms', async () => {
    const grammar = await keytermGrammar(['a | b; <evil> = x', '"}/*{\\'], everything);
    expect(grammar).toContain('<phrase> = a b evil x;');
  });

  it('skips terms with an unpronounceable word, and is empty when no term remains', async () => {
    const dictionary = { has: async (word: string) => word !== 'xyzzy' };
    expect(await keytermGrammar(['say xyzzy', 'hello'], dictionary)).toContain('<phrase> = hello;');
    expect(await keytermGrammar(['xyzzy', '!!!'], dictionary)).toBeNull();
  });

  it('is built word by word, and calls continue in between', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'parley-dictionary-')), 'words.dict');
    writeFileSync(file, '\nhello HH AH L OW\ntable T EY B AH L\nmenu M EH N Y UW\n');
    let rounds = 0;
    let isMade = false;
    const turn = () => {
      rounds++;
      if (!isMade) setImmediate(turn);
    };
    setImmediate(turn);
    const grammar = await keytermGrammar(
      ['hello', 'table', 'menu', 'xyzzy', 'hello menu'],
      await readDictionary(file),
    );
    isMade = true;
    expect(grammar).toContain('<phrase> = hello | table | menu | hello menu;');
    expect(rounds).toBeGreaterThanOrEqual(4);
  });
});

it('absence is detected without running anything', () => {
  expect(findPocketsphinx('/nowhere:relative')).toBeNull();
});

describeNeeds(['pocketsphinx_continuous'])('pocketsphinx', () => {
  const phrases = ['what are your opening hours', 'book a table'];
  let flite: FliteSynthesizer;
  let recognizer: Recognizer;
  beforeAll(async () => {
    process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), 'parley-test-'));
    flite = await openFlite();
    recognizer = await openPocketsphinx(findPocketsphinx(process.env['PATH'] ?? '') ?? '', patientClock);
  });
  afterAll(async () => {
    await flite.close();
    expect(readdirSync(tmpdir())).toEqual([]);
  });

  async function spoken(text: string, rateHz: number): Promise<Int16Array> {
    const signal = new AbortController().signal;
    const [chunk] = await collect(
      flite.synthesise(text, { voiceId: 'slt', language: 'en', speed: 1, sampleRateHz: 16_000, signal }),
    );
    const samples = rateHz === 16_000 ? chunk!.samples : resample(chunk!.samples, 16_000, rateHz);
    return Int16Array.from([...silence(rateHz, 300), ...samples, ...silence(rateHz, 200)]);
  }

  for (const rateHz of [8_000, 16_000]) {
    describe(`conformance at ${rateHz} Hz`, () => {
      recognizerConforms(async () => ({
        recognizer,
        sampleRateHz: rateHz,
        speech: await Promise.all(phrases.map((phrase) => spoken(phrase, rateHz))),
        phrases,
      }));
    });
  }

  it('recognises spoken digits', async () => {
    const heard = new Recording(recognizer, 8_000, ['book a table', 'one', 'two', 'three', 'four']);
    heard.write(await spoken('one two three four', 8_000));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('one two three four');
  });

  it('recognises a keyterm whose words were finalised in the pause within it', async () => {
    const heard = new Recording(recognizer, 8_000, ['please stop calling me', 'thank you goodbye']);
    for (const [index, part] of ['please', 'stop calling me'].entries()) {
      heard.write(await spoken(part, 8_000));
      heard.stream.finalise();
      await heard.until('finalised', index + 1);
    }
    expect(heard.finals).toBe('please stop calling me');
  });

  it('falls back to its own language model without keyterms', async () => {
    const heard = new Recording(recognizer, 16_000);
    heard.write(await spoken('what time is it', 16_000));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toContain('time');
  });

  it('reports clearly that it supports English only', async () => {
    const events: unknown[] = [];
    await new Promise<void>((resolve) => {
      const stream = recognizer.open({
        sampleRateHz: 8_000,
        language: 'de',
        multilingual: false,
        keyterms: [],
        onEvent: (event) => {
          events.push(event);
          resolve();
        },
      });
      void spoken('hello', 8_000).then((samples) => {
        stream.write(samples);
        stream.finalise();
      });
    });
    expect(events).toMatchObject([{ type: 'failed', error: { category: 'bad_request' } }]);
  });
});

it('a program that cannot be run fails the stream', async () => {
  const recognizer = await openPocketsphinx('/nowhere/pocketsphinx_continuous', patientClock);
  const heard = new Recording(recognizer, 8_000);
  heard.write(buzz(8_000, 600));
  heard.stream.finalise();
  await heard.until('failed');
  expect(heard.events).toMatchObject([{ type: 'failed', error: { category: 'unavailable' } }]);
});

it('a program that hangs is killed, and its stream fails as stalled', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'parley-hangs-'));
  const [program, pidFile] = [join(directory, 'hangs'), join(directory, 'pid')];
  writeFileSync(
    program,
    `#!/bin/sh\necho $$ > ${pidFile}.partial && /bin/mv ${pidFile}.partial ${pidFile} && exec /bin/sleep ` +
      '600\n',
    {
      mode: 0o700,
    },
  );
  const clock = new ManualClock();
  const heard = new Recording(await openPocketsphinx(program, clock), 8_000);
  heard.write(buzz(8_000, 600));
  heard.stream.finalise();
  await expect.poll(() => existsSync(pidFile)).toBe(true);
  await expectStalled(heard, () => clock.advance(8_001));
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
