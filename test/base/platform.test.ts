import { describe, expect, it } from 'vitest';
import { processorWaitMs } from '#base/platform.ts';

describe('the operating system', () => {
  it('reports how long a running process has waited for CPU, and nothing for an ended one', async () => {
    if (process.platform === 'linux') expect(processorWaitMs(process.pid)).toBeGreaterThanOrEqual(0);
    expect(processorWaitMs(2 ** 30)).toBeNull();
  });
});
