import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runInTurns } from '#base/run-steps.ts';
import { CHUNK_CHARS, chunking, chunkText } from '#protocol/knowledge-chunks.ts';
import { turnsDuring } from '../turns-until.ts';

const paragraph = (char: string, chars: number) => char.repeat(chars);

describe('chunkText', () => {
  it('leaves a short text unchanged and returns nothing for white space', () => {
    expect(chunkText('We open at nine.\n\nWe close at five.\n')).toEqual([
      'We open at nine.\n\nWe close at five.',
    ]);
    expect(chunkText(' \n\t\n')).toEqual([]);
  });

  it('starts a chunk at a heading, and keeps headings with the text after them', () => {
    expect(
      chunkText('# Hotel\n## Hours\nNine to five.\n\nSundays closed.\n## Pets\nWelcome.\n#hashtag'),
    ).toEqual(['# Hotel\n\n## Hours\n\nNine to five.\n\nSundays closed.', '## Pets\n\nWelcome.\n#hashtag']);
  });

  it('fills a chunk with complete paragraphs', () => {
    const text = ['a', 'b', 'c', 'd'].map((char) => paragraph(char, 500)).join('\r\n\r\n');
    expect(chunkText(text)).toEqual([
      `${paragraph('a', 500)}\n\n${paragraph('b', 500)}`,
      `${paragraph('c', 500)}\n\n${paragraph('d', 500)}`,
    ]);
  });

  it('cuts long paragraphs at line ends, else sentence ends, else spaces, else between characters', () => {
    const [line, sentence] = [paragraph('a', 1_000), `${paragraph('b', 700)}. ${paragraph('c', 450)} d`];
    expect(chunkText(`${line}\n${sentence}`)).toEqual([line, sentence]);
    expect(chunkText(`${sentence}${paragraph('e', 300)}`)).toEqual([
      `${paragraph('b', 700)}.`,
      `${paragraph('c', 450)} d${paragraph('e', 300)}`,
    ]);
    expect(chunkText(`${paragraph('a', 900)} ${paragraph('b', 900)}`)).toEqual([
      paragraph('a', 900),
      paragraph('b', 900),
    ]);
    expect(chunkText(`a${'😀'.repeat(1_000)}`)).toEqual([`a${'😀'.repeat(599)}`, '😀'.repeat(401)]);
    expect(chunkText('はい。'.repeat(500))[0]).toMatch(/。$/);
  });

  it('omits only white space, keeps the order, and keeps every chunk short', () => {
    const word = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constantFrom('# Title', '\n', '\n\n', '. ', '\r\n', 'x'.repeat(2_000)),
    );
    const bare = (text: string) => text.replace(/\s+/g, '');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 200 }), (words) => {
        const text = words.join(' ');
        const chunks = chunkText(text);
        expect(bare(chunks.join(''))).toBe(bare(text));
        for (const chunk of chunks) {
          expect(chunk.trim()).not.toBe('');
          expect(chunk.length).toBeLessThanOrEqual(CHUNK_CHARS);
        }
      }),
      { numRuns: 300, seed: 20_261_121 },
    );
  });

  it('yields to other work while it cuts a long text of any form', async () => {
    for (const unit of ['x', 'words ', '\n', '# a\n', '. ', 'ab\n\n', 'line\n']) {
      const text = unit.repeat(262_144 / unit.length);
      let chunks: string[] = [];
      const turns = await turnsDuring(async () => {
        chunks = await runInTurns(chunking(text));
      });
      expect(chunks).toEqual(chunkText(text));
      expect(turns, JSON.stringify(unit)).toBeGreaterThan(text.length / 20_000);
      expect(turns, JSON.stringify(unit)).toBeLessThan(text.length / 500);
    }
  });

  it('takes time proportional to the length of any text', { timeout: 300_000 }, () => {
    for (const unit of ['x', ' ', '\n', '# ', '. ', '"', 'ab\n\n']) {
      const startedMs = performance.now();
      chunkText(unit.repeat(1_048_576 / unit.length));
      // A quadratic algorithm takes minutes.
      expect(performance.now() - startedMs, JSON.stringify(unit)).toBeLessThan(60_000);
    }
  });
});
