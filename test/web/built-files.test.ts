/** What a page that embeds the widget has to load, measured on the files `npm run prepare` built. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

const KIB = 1024;
const read = (file: string) => readFileSync(join(import.meta.dirname, '../../web/dist', file));
const compressed = (file: string) => gzipSync(read(file)).length;

describe('the built web files', () => {
  it('supplement 5: the widget is one file of at most 60 KB, compressed', () => {
    expect(compressed('widget.js')).toBeLessThanOrEqual(60 * KIB);
  });

  it('a call adds little: the media client without LiveKit', () => {
    expect(compressed('sdk.js') + compressed('sdk-wire.js')).toBeLessThanOrEqual(20 * KIB);
  });

  it('the widget is a classic script that needs neither eval nor markup in strings', () => {
    const script = read('widget.js').toString('utf8');
    expect(() => new Function(script)).not.toThrow();
    expect(script).not.toMatch(/\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write/);
  });
});
