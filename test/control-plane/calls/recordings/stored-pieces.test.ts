import { describe, expect, it } from 'vitest';
import {
  chunkName,
  parseChunk,
  parseSegment,
  segmentName,
  withoutRepeated,
} from '#control-plane/calls/recordings/stored-pieces.ts';

const SALT = '0'.repeat(32);
const run = (index: number, pieces: number, epoch = 1) => ({ epoch, index, pieces });

describe('objects of pieces', () => {
  it('are left out only if another one contains them', () => {
    expect(withoutRepeated([run(0, 1), run(0, 3), run(2, 3), run(4, 1), run(5, 1), run(0, 3, 2)])).toEqual([
      run(0, 3),
      run(2, 3),
      run(0, 3, 2),
      run(5, 1),
    ]);
  });

  it('have all that they are in their names', () => {
    const audio = {
      ...run(12, 12),
      role: 'user',
      startMs: 1_700_000_000_000,
      rateHz: 8_000,
      samples: 460_800,
      packing: 'flac',
    } as const;
    for (const segment of [audio, { ...audio, salt: SALT }])
      expect(parseSegment(segmentName(segment))).toEqual(segment);
    const log = { ...run(12, 12), packing: 'gzip' } as const;
    for (const chunk of [log, { ...log, salt: SALT }]) expect(parseChunk(chunkName(chunk))).toEqual(chunk);
  });
});
