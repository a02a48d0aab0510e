import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { sessionPriority, setSessionPriority } from '#base/platform.ts';
import { type Role, Supervisor, type SupervisorDeps } from '#processes/supervisor.ts';

const program = new URL('../fakes/child-program.ts', import.meta.url).pathname;

/** Not every system groups processes by session, and not every user may raise a group's priority. */
async function mayRaisePriorities(): Promise<boolean> {
  const probe = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  await setSessionPriority(Number(probe.pid), -1);
  const priority = await sessionPriority(Number(probe.pid));
  probe.kill();
  return priority === -1;
}

describe('supervisor', () => {
  let supervisor: Supervisor;
  const directory = mkdtempSync(join(tmpdir(), 'parley-supervisor-'));
  const reportedFile = join(directory, 'reported');
  afterEach(() => {
    supervisor.kill();
    rmSync(reportedFile, { force: true });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  /** Each instance reported to the control plane; reports may repeat after a restart. */
  const reported = () =>
    existsSync(reportedFile) ? [...new Set(readFileSync(reportedFile, 'utf8').trim().split('\n'))] : [];

  interface Started {
    readonly ready: { readonly name: string; readonly facts: Readonly<Record<string, unknown>> }[];
    readonly failed: string[];
  }

  function start(
    roles: readonly Role[],
    environment: (role: Role, starts: number) => Record<string, string> = () => ({}),
    over: Partial<Pick<SupervisorDeps, 'mainThreadTimes' | 'logger' | 'openActivityFile'>> = {},
  ): Started {
    const started: Started = { ready: [], failed: [] };
    const starts = new Map<Role, number>();
    supervisor = new Supervisor({
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
      program,
      baseEnvironment: { ...process.env, REPORTS_FILE: reportedFile },
      onReady: ({ name, facts }) => started.ready.push({ name, facts }),
      onStartFailed: (name) => started.failed.push(name),
      ...over,
    });
    for (const role of roles) {
      supervisor.start({
        name: role,
        role,
        environment: () => {
          starts.set(role, (starts.get(role) ?? 0) + 1);
          return environment(role, starts.get(role) ?? 0);
        },
      });
    }
    return started;
  }

  const pids = (started: Started, name: Role) =>
    started.ready
      .filter((entry) => entry.name === name && entry.facts['pid'] !== undefined)
      .map((entry) => Number(entry.facts['pid']));

  it('restarts killed processes and reports the dead worker to the control plane', async () => {
    const started = start(['control-plane', 'worker']);
    await vi.waitFor(() => expect(started.ready).toHaveLength(2), { timeout: 10_000 });
    process.kill(pids(started, 'worker')[0]!, 'SIGKILL');
    await vi.waitFor(() => expect(pids(started, 'worker')).toHaveLength(2), { timeout: 10_000 });
    await vi.waitFor(() => expect(reported()).toEqual([expect.stringMatching(/^worker-/)]), {
      timeout: 10_000,
    });
    expect(supervisor.deadWorkers).toHaveLength(1);
  });

  it('reports all workers that died meanwhile to a restarted control plane', async () => {
    const started = start(['control-plane', 'worker']);
    await vi.waitFor(() => expect(started.ready).toHaveLength(2), { timeout: 10_000 });
    process.kill(pids(started, 'worker')[0]!, 'SIGKILL');
    process.kill(pids(started, 'control-plane')[0]!, 'SIGKILL');
    await vi.waitFor(() => expect(pids(started, 'control-plane')).toHaveLength(2), { timeout: 10_000 });
    await vi.waitFor(() => expect(reported()).toEqual([expect.stringMatching(/^worker-/)]), {
      timeout: 10_000,
    });
  });

  it('reports that a worker which can no longer start will have no successor', async () => {
    const started = start(['control-plane', 'worker'], (role, starts) =>
      role === 'worker' && starts > 1 ? { BEHAVIOUR_worker: 'fail' } : {},
    );
    await vi.waitFor(() => expect(started.ready).toHaveLength(2), { timeout: 10_000 });
    process.kill(pids(started, 'worker')[0]!, 'SIGKILL');
    await vi.waitFor(() => expect(reported().length).toBeGreaterThanOrEqual(3), { timeout: 10_000 });
    expect(
      reported()
        .slice(0, 3)
        .map((line) => line.endsWith(' for good')),
    ).toEqual([false, false, true]);
  });

  it('security 3: kills a hung process, logs what it was doing, and restarts it', async () => {
    const errors: string[] = [];
    const silent = createLogger({ level: 'silent', name: 'test' });
    const logger = Object.assign(Object.create(silent), {
      error: (_: object, text: string) => errors.push(text),
    });
    const started = start(
      ['worker'],
      (_, starts) => ({ BEHAVIOUR_worker: 'hang', ...(starts === 1 ? { HANG_ONCE: '1' } : {}) }),
      { logger },
    );
    // Time in which a busy machine does not schedule the process is not counted.
    await vi.waitFor(() => expect(pids(started, 'worker')).toHaveLength(2), { timeout: 60_000 });
    expect(errors[0]).toMatch(
      /^worker hung for \d,\d{3} ms in POST \/v1\/agent\/tools \(request 0123\); killing it$/,
    );
  }, 70_000);

  it.each([
    [
      'the session in which a worker hung, whatever it ran before',
      { HANG_AFTER: '0123', HANG_IN: '4567' },
      / in 4567$/,
    ],
    ['no session if none was running', { HANG_AFTER: '0123' }, /^worker-\w+$/],
  ])(
    'security 3: reports to the control plane %s',
    async (_what, hangs, expected) => {
      const hanging = { BEHAVIOUR_worker: 'hang', HANG_ONCE: '1', ...hangs };
      start(['control-plane', 'worker'], (role, starts) =>
        role === 'worker' && starts === 1 ? (hanging as Record<string, string>) : {},
      );
      // Time in which a busy machine does not schedule the process is not counted.
      await vi.waitFor(() => expect(reported()).toEqual([expect.stringMatching(expected)]), {
        timeout: 60_000,
      });
    },
    70_000,
  );

  it('security 3: a part started by another program does not touch that program’s descriptors', async () => {
    const file = join(directory, 'theirs');
    writeFileSync(file, 'theirs');
    const fd = openSync(file, 'r+');
    const env = { ...process.env, BEHAVIOUR_worker: 'hang' };
    const part = fork(program, ['worker'], { stdio: ['inherit', 'inherit', 'inherit', 'ipc', fd], env });
    // Its first sign of life follows its report about itself.
    await once(part, 'message');
    part.kill('SIGKILL');
    closeSync(fd);
    expect(readFileSync(file, 'utf8')).toBe('theirs');
  });

  it('a process without a file in memory sends its signs of life as messages', async () => {
    const part = fork(program, ['worker']);
    const types: unknown[] = [];
    part.on('message', (message) => types.push((message as { type: string }).type));
    await vi.waitFor(() => expect(types).toContain('alive'), { timeout: 10_000 });
    part.kill('SIGKILL');
  });

  it('knows by such messages that a process without a file does not hang', async () => {
    const started = start(['worker'], () => ({}), { openActivityFile: () => null });
    await vi.waitFor(() => expect(started.ready).toHaveLength(1), { timeout: 10_000 });
    // Longer than a process may hang.
    await systemClock.sleep(3_500);
    expect([started.ready.length, supervisor.deadWorkers]).toEqual([1, []]);
  });

  it('spares a process that the machine does not schedule', async () => {
    // It hangs for 4 s; this simulates a busy machine that did not schedule it at all.
    const started = start(['worker'], () => ({ BEHAVIOUR_worker: 'hang', HANG_MS: '4000' }), {
      mainThreadTimes: () => ({ ranMs: 100, waitedMs: 0, state: 'runnable' }),
    });
    await vi.waitFor(() => expect(started.ready).toHaveLength(1), { timeout: 15_000 });
    await expect.poll(reported, { timeout: 20_000 }).toEqual(['hung']);
    expect(supervisor.deadWorkers).toEqual([]);
  });

  it('kills a process that is stopped', async () => {
    const started = start(['worker']);
    await vi.waitFor(() => expect(started.ready).toHaveLength(1), { timeout: 15_000 });
    process.kill(pids(started, 'worker')[0]!, 'SIGSTOP');
    await vi.waitFor(() => expect(pids(started, 'worker')).toHaveLength(2), { timeout: 20_000 });
  });

  it('waits longer for a control plane: calls in progress do not need it, and its restart takes longer', async () => {
    const started = start(['control-plane'], () => ({ BEHAVIOUR_control_plane: 'hang', HANG_MS: '4000' }));
    await vi.waitFor(() => expect(started.ready).toHaveLength(1), { timeout: 15_000 });
    await expect.poll(reported, { timeout: 20_000 }).toEqual(['hung']);
    expect(pids(started, 'control-plane')).toHaveLength(1);
  });

  it('calls go before the control plane, and it before signalling, where sessions share the cores', async () => {
    const started = start(['control-plane', 'signalling', 'worker']);
    await vi.waitFor(() => expect(started.ready).toHaveLength(3), { timeout: 10_000 });
    const niceOf = async (role: Role) => Number(await sessionPriority(Number(pids(started, role)[0])));
    if (!(await mayRaisePriorities())) return;
    await expect
      .poll(() => niceOf('worker'), { timeout: 10_000 })
      .toBeLessThan(await niceOf('control-plane'));
    await expect
      .poll(() => niceOf('control-plane'), { timeout: 10_000 })
      .toBeLessThan(await niceOf('signalling'));
  });

  it('a process that never becomes ready fails the start', async () => {
    const started = start(['signalling'], () => ({ BEHAVIOUR_signalling: 'fail' }));
    await vi.waitFor(() => expect(started.failed).toEqual(['signalling']), { timeout: 10_000 });
  });

  it('stops the workers first and the control plane last, one at a time', async () => {
    const started = start(['control-plane', 'signalling', 'worker']);
    await vi.waitFor(() => expect(started.ready).toHaveLength(3), { timeout: 10_000 });
    await supervisor.stop(1_000);
    for (const { facts } of started.ready) expect(() => process.kill(Number(facts['pid']), 0)).toThrow();
  });
});
