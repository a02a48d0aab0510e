import { describe, expect, it } from 'vitest';
import { jemallocEnvironment, processorWaitMs } from '#base/platform.ts';

describe('the operating system', () => {
  it('reports how long a running process has waited for CPU, and nothing for an ended one', async () => {
    if (process.platform === 'linux') expect(processorWaitMs(process.pid)).toBeGreaterThanOrEqual(0);
    expect(processorWaitMs(2 ** 30)).toBeNull();
  });

  it('loads jemalloc where it is installed, unless LD_PRELOAD says otherwise', () => {
    const installed = () => true;
    const { LD_PRELOAD: file, MALLOC_CONF: options } = jemallocEnvironment({}, installed);
    expect(file).toMatch(/libjemalloc\.so\.2$/);
    expect(options).toContain('background_thread:true');
    expect(jemallocEnvironment({}, () => false)).toEqual({});
    expect(jemallocEnvironment({ LD_PRELOAD: '' }, installed)['LD_PRELOAD']).toBe('');
    expect(jemallocEnvironment({ MALLOC_CONF: 'narenas:1' }, installed)['MALLOC_CONF']).toBe('narenas:1');
  });
});
