import { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type Srf from 'drachtio-srf';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import { openSignalling } from '#telephony/drachtio/drachtio-signalling.ts';
import { type Heard, ProbeAnswers } from '#telephony/drachtio/worker-probe.ts';
import type { App } from '#telephony/embedded/app-protocol.ts';
import { AppWatch } from '#telephony/embedded/app-watch.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { type Link, openLink } from '#test/fakes/link.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { SECRET, startTestSignalling } from '#test/fakes/signalling.ts';
import { turnsUntil } from '#test/turns-until.ts';

/** Time for a question and its answer on the loopback, between two seconds of the server's clock. */
const TURN_MS = 30;
const SECONDS = 60;
/** More turns of the event loop than an answer needs. */
const ANSWER_TURNS = 20;
const logger = createLogger({ level: 'silent', name: 'test' });

let clock: ManualClock;
let server: EmbeddedSignalling;
let link: Link;
let reports: SignallingReport[];
/** Whether a control plane takes the reports. */
let isTaken: boolean;
let heard: Heard[];
let workers: Signalling[];

beforeEach(async () => {
  [reports, heard, workers, isTaken] = [[], [], [], true];
  clock = new ManualClock();
  server = await startTestSignalling({
    clock,
    reportWorkers: async (report) => {
      reports.push(report);
      if (!isTaken) throw new Error('no control plane');
    },
  });
  link = await openLink(server.appPort);
});
afterEach(async () => {
  for (const worker of workers) worker.close();
  await server.close();
  await link.close();
});

async function connect(tag: string, isLeased: boolean): Promise<void> {
  const watch = {
    now: () => systemClock.now(),
    asked: (_server: object, known: Heard | null) => {
      if (known) heard.push(known);
      return true;
    },
    gone: () => undefined,
    hasItsCalls: async () => undefined,
  };
  const { signalling, connected } = openSignalling({
    servers: [{ host: '127.0.0.1', port: link.port }],
    secret: SECRET,
    tag,
    watch: isLeased ? watch : undefined,
    clock: systemClock,
    logger,
  });
  workers.push(signalling);
  await connected;
}

const last = () => reports.at(-1);

/** Lets the server's time pass until the check holds. */
async function until(check: () => void): Promise<void> {
  for (let second = 0; second < SECONDS; second++) {
    try {
      check();
      return;
    } catch {
      await clock.advance(1_000);
      await sleep(TURN_MS);
    }
  }
  check();
}

describe('the embedded server’s watch of its workers', () => {
  it('reports a worker that answers, and tells it so', async () => {
    const beforeMs = systemClock.now();
    await connect('worker-1', true);
    await until(() => expect(last()?.connected).toEqual(['worker-1']));
    await until(() => expect(heard.at(-1)?.isReported).toBe(true));
    expect(heard.every(({ sentMs }) => sentMs > beforeMs && sentMs <= systemClock.now())).toBe(true);
  });

  it('tells a worker that it hears it while no control plane takes its reports, and that none does', async () => {
    isTaken = false;
    await connect('worker-1', true);
    await until(() => expect(heard.length).toBeGreaterThan(3));
    expect(heard.filter(({ isReported }) => isReported)).toEqual([]);
  });

  it('judges nobody by the time in which its own process stood still', async () => {
    await connect('worker-1', true);
    await until(() => expect(last()?.connected).toEqual(['worker-1']));
    const before = reports.length;
    const questions = heard.length;
    // The answers of that time are read after the timer.
    clock.stall(8_000);
    await clock.advance(0);
    await turnsUntil(() => heard.length > questions);
    // The answer crosses two connections on the loopback.
    for (let turn = 0; turn < ANSWER_TURNS; turn++) await nextTurn();
    await until(() => expect(reports.length).toBeGreaterThan(before + 2));
    expect(reports.slice(before).flatMap(({ silent }) => silent)).toEqual([]);
    expect(workers.every(({ isConnected }) => isConnected)).toBe(true);
  });

  it('does not report a worker that does not fall silent by itself', async () => {
    await connect('worker-1', true);
    await connect('worker-2', false);
    await until(() => expect(reports.length).toBeGreaterThan(2));
    expect(reports.flatMap(({ connected, silent }) => [...connected, ...silent])).not.toContain('worker-2');
  });

  it('reports a worker whose connection is lost as silent, since its last answer', async () => {
    await connect('worker-1', true);
    await until(() => expect(last()?.connected).toEqual(['worker-1']));
    link.cut();
    await until(() => expect(last()?.silent).toMatchObject([{ worker: 'worker-1' }]));
    expect(last()?.connected).toEqual([]);
    link.mend();
    await until(() => expect(last()).toMatchObject({ connected: ['worker-1'], silent: [] }));
  });

  it('reports a worker that no longer answers as silent, although its connection is open', async () => {
    await connect('worker-1', true);
    await until(() => expect(last()?.connected).toEqual(['worker-1']));
    link.hold();
    await until(() => expect(last()?.silent).toMatchObject([{ worker: 'worker-1' }]));
    link.release();
  });

  it('asks a worker whose supervisor watches it once per connection', async () => {
    const answers = new ProbeAnswers(null, SECRET);
    const apps = new Set<App>();
    const watch = new AppWatch({ clock, logger, secret: SECRET, apps, report: async () => undefined });
    let questions = 0;
    const connectAgain = () => {
      const app: App = {
        tags: new Set(['worker-1']),
        verbs: new Set(['options']),
        deliver(tokens, raw = '') {
          questions += 1;
          const get = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(raw)?.[1]?.trim();
          const headers = Object.entries(answers.headersFor({ get } as Srf.SrfRequest));
          watch.takeAnswer(app, tokens[7] ?? '', {
            start: { kind: 'response', status: 200, reason: 'OK' },
            headers: headers.map(([name, value]) => ({ name, value })),
            body: '',
          });
        },
        answer: () => undefined,
        close: () => undefined,
      };
      apps.clear();
      apps.add(app);
    };
    connectAgain();
    await clock.advance(5_000);
    expect(questions).toBe(1);
    connectAgain();
    await clock.advance(5_000);
    expect(questions).toBe(2);
    watch.close();
  });

  it('leaves it to the system to ask whether the machine of such a worker is still there', async () => {
    const kept = vi.spyOn(Socket.prototype, 'setKeepAlive');
    onTestFinished(() => kept.mockRestore());
    await connect('worker-1', false);
    expect(kept).toHaveBeenCalledWith(true, 30_000);
  });
});
