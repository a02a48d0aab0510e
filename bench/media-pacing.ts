/**
 * Measures how evenly the media thread sends. `node bench/media-pacing.ts [legs…]` keeps that many RTP legs
 * open, each receiving speech and playing a tone. Prints, from a packet capture, how far packets are off each
 * stream's 20 ms grid, and the CPU of all threads. Budget: p99 ≤ 1.2 ms, p99.9 ≤ 4 ms, no gap above 40 ms at
 * 100 calls.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { startCapture } from '#caller/capture.ts';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { speak } from '#caller/spoken.ts';
import { quantile } from '#caller/statistics.ts';
import { encodeG711 } from '#media/dsp/g711.ts';
import type { Leg } from '#media/leg/leg.ts';
import { parseRtp, RTP_HEADER_BYTES, unwrap, writeRtpHeader } from '#media/rtp/packet.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';

const FIRST_LEG_PORT = 36_000;
const FIRST_PEER_PORT = 37_000;
const SECONDS = 10;
const WARM_UP_MS = 2000;

if (process.argv[2] === 'peers') runPeers(Number(process.argv[3]));
else
  for (const legs of process.argv
    .slice(2)
    .map(Number)
    .concat(process.argv.length > 2 ? [] : [50, 100]))
    await measure(legs);

/** Runs the far ends in a separate process; each repeats one sentence. */
function runPeers(count: number): void {
  const spoken = speak('I would like to know when you are open on Saturday.', {
    rateHz: 8000,
    afterMs: 1500,
  }).samples;
  const frames = Array.from({ length: Math.floor(spoken.length / 160) }, (_, n) => {
    const bytes = new Uint8Array(160);
    encodeG711('PCMU', spoken.subarray(n * 160, (n + 1) * 160), bytes, 0);
    return bytes;
  });
  const sockets = Array.from({ length: count }, (_, n) =>
    createSocket('udp4').bind(FIRST_PEER_PORT + 2 * n, '127.0.0.1'),
  );
  const startMs = systemClock.now();
  let tick = 0;
  const turn = () => {
    for (; startMs + tick * 5 <= systemClock.now(); tick++) {
      for (let n = tick % 4; n < count; n += 4) {
        const packet = new Uint8Array(RTP_HEADER_BYTES + 160);
        const sequence = Math.floor(tick / 4);
        writeRtpHeader(packet, {
          marker: false,
          payloadType: 0,
          sequence,
          timestamp: sequence * 160,
          ssrc: n,
        });
        packet.set(frames[(sequence + n * 7) % frames.length] ?? frames[0] ?? packet, RTP_HEADER_BYTES);
        sockets[n]?.send(packet, FIRST_LEG_PORT + 2 * n, '127.0.0.1');
      }
    }
    setTimeout(turn, 1);
  };
  turn();
}

async function measure(count: number): Promise<void> {
  const logger = createLogger({ level: 'warn', name: 'bench' });
  const host = await startMediaThread({
    rtpPortMin: FIRST_LEG_PORT,
    rtpPortMax: FIRST_LEG_PORT + 2 * count,
    iceServers: [],
    clock: systemClock,
    logger,
  });
  const legs: Leg[] = [];
  let events = 0;
  for (let n = 0; n < count; n++) {
    const codec = { codec: 'PCMU', payloadType: 0, digitPayloadType: 101, sending: true } as const;
    const remote = { address: '127.0.0.1', port: FIRST_PEER_PORT + 2 * n, ...codec };
    const { leg } = await host.openRtpLeg({
      localAddress: '127.0.0.1',
      remote,
      recording: { firstSegment: 0 },
    });
    leg.listen((batch) => {
      events += batch.length;
    });
    legs.push(leg);
  }
  const peers = fork(process.argv[1] ?? '', ['peers', String(count)]);
  await systemClock.sleep(WARM_UP_MS);
  const tone = Int16Array.from(
    { length: 8000 * SECONDS },
    (_, n) => 8000 * Math.sin((2 * Math.PI * 440 * n) / 8000),
  );
  for (const leg of legs)
    leg.send({ do: 'play', replyId: 'r', pieceId: 0, samples: tone, marks: Int32Array.of(), last: true });
  const capture = await startCapture({ first: FIRST_LEG_PORT, last: FIRST_LEG_PORT + 2 * count });
  const cpuBefore = process.cpuUsage();
  await systemClock.sleep(SECONDS * 1000);
  const cpu = process.cpuUsage(cpuBefore);
  report({ count, events, cpuSeconds: (cpu.user + cpu.system) / 1e6, datagrams: await capture.stop() });
  await stop(peers);
  await host.close();
}

async function stop(peers: ChildProcess): Promise<void> {
  const exited = once(peers, 'exit');
  peers.kill('SIGKILL');
  await exited;
}

function report(run: {
  count: number;
  events: number;
  cpuSeconds: number;
  datagrams: readonly CapturedDatagram[];
}): void {
  const offGridMs: number[] = [];
  let longestGapMs = 0;
  for (let n = 0; n < run.count; n++) {
    const port = FIRST_LEG_PORT + 2 * n;
    const sent = run.datagrams.filter((datagram) => datagram.sourcePort === port);
    const timestamps = sent.map((datagram) => parseRtp(datagram.payload)?.timestamp ?? 0);
    const lateness = sent.map(
      (datagram, index) => datagram.atMs - unwrap(timestamps[0] ?? 0, timestamps[index] ?? 0, 32) / 8,
    );
    // Fixed 20 ms grid through the median: measures the spread, independent of the sender's phase.
    const middle = quantile(lateness, 0.5);
    offGridMs.push(...lateness.map((each) => Math.abs(each - middle)));
    for (const [index, datagram] of sent.entries())
      longestGapMs = Math.max(longestGapMs, datagram.atMs - (sent[index - 1]?.atMs ?? datagram.atMs));
  }
  const [p50, p99, p999] = [0.5, 0.99, 0.999].map((q) => quantile(offGridMs, q)) as [number, number, number];
  const verdict = p99 <= 1.2 && p999 <= 4 && longestGapMs <= 40 ? 'within budget' : 'OVER BUDGET';
  const perCallMinute = (run.cpuSeconds / run.count / SECONDS) * 60;
  console.log(
    `${run.count} legs, ${offGridMs.length} packets: off the grid p50 ${p50.toFixed(2)} p99 ` +
      `${p99.toFixed(2)} p99.9 ${p999.toFixed(2)} ms, ` +
      `longest gap ${longestGapMs.toFixed(1)} ms (${verdict}); CPU ${perCallMinute.toFixed(3)} s per ` +
      `call-minute, ${run.events} events`,
  );
}
