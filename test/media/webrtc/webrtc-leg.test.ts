import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { speak } from '#caller/spoken.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { Browsers } from '../../fakes/browser-peer.ts';
import { LegLog } from '../../fakes/leg-log.ts';
import { mutate } from '../../fuzz/sip/mutate.ts';
import { createRandom } from '../../simulation/random.ts';

const tone = (rateHz: number, ms: number, hz: number) =>
  Int16Array.from(
    { length: (rateHz * ms) / 1000 },
    (_, n) => 8000 * Math.sin((2 * Math.PI * hz * n) / rateHz),
  );

/** Frequency by zero crossings. */
function pitchHz(samples: Int16Array, rateHz: number): number {
  let crossings = 0;
  for (let n = 1; n < samples.length; n++)
    if ((samples[n - 1] ?? 0) < 0 !== (samples[n] ?? 0) < 0) crossings++;
  return (crossings / 2 / samples.length) * rateHz;
}

/** The child process of this test that serves web legs. */
function webProcess(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);
  return (
    children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('media-thread-entry')) ??
    Number.NaN
  );
}

/** UDP ports in our range that are bound by any process on this machine. */
function openPorts(): number[] {
  const tables = ['/proc/net/udp', '/proc/net/udp6'].map((path) => readFileSync(path, 'utf8')).join('\n');
  const ports = [...tables.matchAll(/^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) /gm)].map((match) =>
    Number.parseInt(match[1] ?? '', 16),
  );
  return ports.filter((port) => port >= 22_000 && port <= 22_099);
}

describe('a web leg', () => {
  let host: LegFactory;
  let browsers: Browsers;
  const logger = createLogger({ level: 'silent', name: 'test' });

  beforeAll(async () => {
    browsers = new Browsers();
    host = await startMediaThread({
      rtpPortMin: 22_000,
      rtpPortMax: 22_099,
      iceServers: [],
      clock: systemClock,
      logger,
    });
  });
  afterAll(async () => {
    await host.close();
    await browsers.close();
  });

  async function connect(options: { recording?: boolean } = {}) {
    const browser = browsers.open();
    const { leg, answerSdp } = await host.openWebrtcLeg({
      offerSdp: await browser.offer(),
      recording: options.recording ? { firstSegment: 0 } : null,
    });
    const log = new LegLog(leg);
    await browser.connect(answerSdp);
    await log.next('connected');
    return { browser, leg, log, answerSdp };
  }

  it('answers with all candidates gathered, from its range of ports', async () => {
    const { browser, leg, log, answerSdp } = await connect();
    const ports = [...answerSdp.matchAll(/^a=candidate:\S+ 1 udp \d+ \S+ (\d+) typ host/gm)].map((match) =>
      Number(match[1]),
    );
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.every((port) => port >= 22_000 && port <= 22_099)).toBe(true);
    leg.send({ do: 'close' });
    expect(await log.next('closed')).toMatchObject({ reason: 'local' });
    browser.close();
  });

  it('carries voice both ways and records it on one timeline', async () => {
    const { browser, leg, log } = await connect({ recording: true });
    leg.send({
      do: 'play',
      replyId: 'r',
      pieceId: 1,
      samples: tone(leg.outRateHz, 600, 880),
      marks: Int32Array.of(),
      last: true,
    });
    await browser.speak(tone(48_000, 800, 440));
    await log.next('playout.finished');
    await log.next(
      'audio',
      () => log.frames().filter((event) => event.samples.some((sample) => sample > 4000)).length > 20,
    );
    const loud = browser.heard.filter((block) => block.samples.some((sample) => sample > 4000));
    expect(loud.length).toBeGreaterThan(45);
    const middle = loud[Math.floor(loud.length / 2)]?.samples ?? new Int16Array(1);
    expect(Math.abs(pitchHz(Int16Array.from([...middle]), 48_000) - 880)).toBeLessThan(60);
    const heard = log.frames().filter((event) => event.samples.some((sample) => sample > 4000));
    expect(
      Math.abs(
        pitchHz(Int16Array.from(heard.slice(5, 15).flatMap((event) => [...event.samples])), 16_000) - 440,
      ),
    ).toBeLessThan(20);
    browser.close();
    expect(await log.next('closed')).toMatchObject({ reason: 'remote' });
    const tracks = log.all('recording').map((event) => [event.track, event.rateHz]);
    expect(tracks).toEqual([
      ['user', 16_000],
      ['agent', 24_000],
    ]);
    expect(log.events.at(-1)?.type).toBe('closed');
  });

  it('exchanges messages on the data channel, including those sent before it opened', async () => {
    const browser = browsers.open();
    const { leg, answerSdp } = await host.openWebrtcLeg({ offerSdp: await browser.offer(), recording: null });
    const log = new LegLog(leg);
    leg.send({ do: 'sendMessage', json: '{"early":true}' });
    await browser.connect(answerSdp);
    leg.send({ do: 'sendMessage', json: '{"late":true}' });
    browser.send('{"type":"hello"}');
    expect(await log.next('message')).toMatchObject({ text: '{"type":"hello"}' });
    await expect.poll(() => browser.messages).toEqual(['{"early":true}', '{"late":true}']);
    leg.send({ do: 'sendMessage', json: '{"last":true}' });
    leg.send({ do: 'close' });
    await log.next('closed');
    await expect.poll(() => browser.messages.at(-1)).toBe('{"last":true}');
    browser.close();
  });

  it('detects when a web caller starts and stops speaking', async () => {
    const { browser, log } = await connect();
    const spoken = speak('Good morning.', { rateHz: 48_000, beforeMs: 500, afterMs: 300 });
    const startMs = await browser.speak(spoken.samples);
    const onset = await log.next('voice.onset');
    const offset = await log.next('voice.offset');
    // Encoding, buffering and a busy sender add delay; the scenes measure how much is allowed (npm run
    // scenes).
    expect(onset.atMs - (startMs + spoken.startMs)).toBeGreaterThan(-100);
    expect(offset.atMs).toBeGreaterThan(onset.atMs);
    expect(Math.abs(offset.atMs - (startMs + spoken.endMs))).toBeLessThan(1_000);
    browser.close();
    await log.next('closed');
  });

  it('refuses an offer without audio', async () => {
    await expect(host.openWebrtcLeg({ offerSdp: 'v=0\r\n', recording: null })).rejects.toMatchObject({
      code: 'sdp_unusable',
    });
    const offerSdp =
      'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=audio 9 RTP/AVP 0\r\nc=IN IP4 0.0.0.0\r\n';
    await expect(host.openWebrtcLeg({ offerSdp, recording: null })).rejects.toMatchObject({
      code: 'sdp_unusable',
    });
  });

  it('survives malformed offers without affecting other calls', async () => {
    const { browser, log } = await connect();
    const before = webProcess();
    const offer = Buffer.from(await browsers.open().offer());
    const random = createRandom(1);
    for (let run = 0; run < 80; run++) {
      const offerSdp = mutate(offer, [offer], random).toString('latin1');
      const opened = await host
        .openWebrtcLeg({ offerSdp, recording: null })
        .catch((error: { code: string }) => error.code);
      if (typeof opened === 'string') expect(opened).toBe('sdp_unusable');
      else opened.leg.send({ do: 'close' });
    }
    const unknownMedia = offer.toString().replace('m=application', 'm=applikation');
    await expect(host.openWebrtcLeg({ offerSdp: unknownMedia, recording: null })).rejects.toMatchObject({
      code: 'sdp_unusable',
    });
    expect(webProcess()).toBe(before);
    browser.send('{"type":"still here"}');
    expect(await log.next('message')).toMatchObject({ text: '{"type":"still here"}' });
    browser.close();
  });

  it('accepts messages only up to its rate limit', async () => {
    const { browser, log } = await connect();
    for (let sent = 0; sent < 1_000; sent++) browser.send(`{"n":${sent}}`);
    browser.close();
    await log.next('closed');
    const taken = log.events.filter(({ type }) => type === 'message').length;
    expect(taken).toBeGreaterThanOrEqual(200);
    expect(taken).toBeLessThan(600);
  });

  it('affects nothing else when its process dies, and another process serves the next web call', async () => {
    const { browser, log } = await connect();
    const phone = await host.openRtpLeg({ localAddress: '127.0.0.1', remote: null, recording: null });
    const phoneLog = new LegLog(phone.leg);
    process.kill(webProcess(), 'SIGKILL');
    expect(await log.next('closed')).toMatchObject({ reason: 'failed' });
    browser.close();
    const later: Awaited<ReturnType<typeof connect>>[] = [];
    const retry = () =>
      connect().then(
        (call) => later.push(call),
        () => 0,
      );
    await expect.poll(retry, { timeout: 30_000 }).toBe(1);
    later[0]?.browser.close();
    expect(phoneLog.all('closed')).toEqual([]);
    phone.leg.send({ do: 'close' });
    expect(await phoneLog.next('closed')).toMatchObject({ reason: 'local' });
  });

  it('leaves nothing behind after twenty calls', async () => {
    for (let call = 0; call < 20; call++) {
      const { browser, leg, log } = await connect();
      if (call % 2 === 0) leg.send({ do: 'close' });
      else browser.close();
      await log.next('closed');
      if (call % 2 === 0) browser.close();
    }
    await expect.poll(openPorts).toEqual([]);
  });
});
