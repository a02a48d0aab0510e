import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { jemallocEnvironment, mainThreadTimes, timesFrom } from '#base/platform.ts';

describe('the operating system', () => {
  it('reports the times and the state of the main thread of a running process, and nothing of an ended one', async () => {
    if (process.platform === 'linux') {
      expect(mainThreadTimes(process.pid)).toEqual({
        ranMs: expect.any(Number),
        waitedMs: expect.any(Number),
        state: expect.stringMatching(/^(runnable|sleeping|blocked)$/),
      });
    }
    expect(mainThreadTimes(2 ** 30)).toBeNull();
  });

  it.each([
    ['R', 'runnable'],
    ['D', 'blocked'],
    ['S', 'sleeping'],
    ['T', 'sleeping'],
  ])('reads %s as the state %s, after a name with brackets and spaces', (letter, state) => {
    const stat = `42 (D) R) ${letter} 1 42 42 0 -1 4194560`;
    expect(timesFrom('2500000 1000000 7\n', stat)).toEqual({ ranMs: 2.5, waitedMs: 1, state });
  });

  it('reports nothing where the kernel keeps no statistics and writes zeros', () => {
    expect(timesFrom('0 0 0\n', '42 (node) R 1 42')).toBeNull();
  });

  it.runIf(process.platform === 'linux')('tells a process that runs from one that is stopped', async () => {
    const loop = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    const pid = Number(loop.pid);
    try {
      await expect.poll(() => mainThreadTimes(pid)?.ranMs, { timeout: 10_000 }).toBeGreaterThan(50);
      expect(mainThreadTimes(pid)?.state).toBe('runnable');
      loop.kill('SIGSTOP');
      await expect.poll(() => mainThreadTimes(pid)?.state, { timeout: 10_000 }).toBe('sleeping');
    } finally {
      loop.kill('SIGKILL');
    }
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
