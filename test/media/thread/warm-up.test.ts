/**
 * Everything the first call needs is loaded in advance, as shown by the native libraries mapped into a
 * process (`proc(5)`, maps).
 */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { Browsers } from '#test/fakes/browser-peer.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { webProcesses } from '#test/fakes/web-processes.ts';

const PATIENTLY = { timeout: 25_000 };

/** Whether these native libraries are loaded in each process; requires at least one process. */
function haveLoaded(pids: readonly number[], libraries: readonly string[]): boolean {
  const maps = pids.map((pid) => readFileSync(`/proc/${pid}/maps`, 'utf8'));
  return maps.length > 0 && maps.every((map) => libraries.every((name) => map.includes(name)));
}

const OF_WEB_CALLS = ['wrtc.node', 'libonnxruntime'];
const OF_ROOMS = ['rtc-node', 'libonnxruntime'];
const OF_PHONE_CALLS = ['libonnxruntime'];

describe('warming up', () => {
  let host: LegFactory;
  beforeEach(async () => {
    // Set for all tests.
    delete process.env['ORT_DISABLE_TELEMETRY'];
    const logger = createLogger({ level: 'silent', name: 'test' });
    host = await startMediaThread({
      rtpPortMin: 22_400,
      rtpPortMax: 22_499,
      iceServers: [],
      clock: systemClock,
      logger,
    });
  });
  afterEach(() => host.close());

  it('forbids the runtime of the speech detector to report to its maker', async () => {
    host.warmUp(['webrtc']);
    await expect.poll(() => host.isWebReady, PATIENTLY).toBe(true);
    const environments = webProcesses().map((pid) =>
      readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'),
    );
    expect(environments).toEqual([expect.arrayContaining(['ORT_DISABLE_TELEMETRY=1'])]);
    expect(process.env['ORT_DISABLE_TELEMETRY']).toBe('1');
  });

  it('starts the process that the first web call uses; its replacement is warmed up too', {
    timeout: 90_000,
  }, async () => {
    expect(webProcesses()).toEqual([]);
    host.warmUp(['webrtc']);
    expect(host.isWebReady).toBe(false);
    await expect.poll(() => host.isWebReady, PATIENTLY).toBe(true);
    await expect.poll(() => haveLoaded(webProcesses(), OF_WEB_CALLS), PATIENTLY).toBe(true);
    expect(haveLoaded(webProcesses(), OF_ROOMS)).toBe(false);
    expect(haveLoaded([process.pid], OF_PHONE_CALLS)).toBe(false);
    const [first] = webProcesses();

    const browsers = new Browsers();
    const browser = browsers.open();
    const { leg, answerSdp } = await host.openWebrtcLeg({ offerSdp: await browser.offer(), recording: null });
    const log = new LegLog(leg);
    await browser.connect(answerSdp);
    await log.next('connected');
    expect(webProcesses()).toEqual([first]);

    process.kill(first ?? Number.NaN, 'SIGKILL');
    await log.next('closed');
    await expect
      .poll(() => haveLoaded(webProcesses(), OF_WEB_CALLS) && !webProcesses().includes(first ?? 0), PATIENTLY)
      .toBe(true);
    browser.close();
    await browsers.close();
  });

  it('has loaded the library of rooms when web calls in rooms are ready', { timeout: 60_000 }, async () => {
    host.warmUp(['livekit']);
    await expect.poll(() => host.isWebReady, PATIENTLY).toBe(true);
    expect(haveLoaded(webProcesses(), ['rtc-node'])).toBe(true);
    expect(haveLoaded(webProcesses(), ['wrtc.node'])).toBe(false);
  });

  it('loads the speech detector only once for phone calls', { timeout: 60_000 }, async () => {
    host.warmUp(['rtp']);
    host.warmUp(['rtp']);
    await expect.poll(() => haveLoaded([process.pid], OF_PHONE_CALLS), PATIENTLY).toBe(true);
    expect(webProcesses()).toEqual([]);
  });
});
