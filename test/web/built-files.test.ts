/** Download size of a page with the widget, measured on the files built by `npm run prepare`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

const KIB = 1024;
const DIST = join(import.meta.dirname, '../../web/dist');
const read = (file: string) => readFileSync(join(DIST, file));
/** Transfer size for older browsers; Brotli is smaller. */
const compressed = (file: string) => read(`${file}.gz`).length;

describe('the built web files', () => {
  it('are stored next to their compressed forms', () => {
    const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.(?:js|css|html)$/.test(file),
    );
    expect(files).toEqual(expect.arrayContaining(['widget.js', 'sdk.js', join('console', 'index.html')]));
    for (const file of files) {
      const content = read(file);
      expect(brotliDecompressSync(read(`${file}.br`)).equals(content), file).toBe(true);
      expect(gunzipSync(read(`${file}.gz`)).equals(content), file).toBe(true);
    }
  });

  it('contain the widget as one file of at most 60 KB, compressed', () => {
    expect(compressed('widget.js')).toBeLessThanOrEqual(60 * KIB);
  });

  it('add little for a call: the media client without LiveKit', () => {
    expect(compressed('sdk.js') + compressed('sdk-wire.js')).toBeLessThanOrEqual(20 * KIB);
  });

  it('contain the widget as a classic script that needs neither eval nor markup in strings', () => {
    const script = read('widget.js').toString('utf8');
    expect(() => new Function(script)).not.toThrow();
    expect(script).not.toMatch(/\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write/);
  });
});
