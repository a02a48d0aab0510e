/** The neutral caller against independent far ends: sipp, and an agent with known delays. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, describe, expect, it } from 'vitest';
import { startCapture } from '#caller/capture.ts';
import { measureCall } from '#caller/measure.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { startKnownAgent } from '../bench/known-agent.ts';
import { freeSippMediaPort, freeUdpPort } from '../free-port.ts';
import { itNeeds } from '../needs.ts';

/** Maximum difference between two clocks on one machine, including the transit of a packet. */
const CLOCKS_MS = 4;
const ports = { first: 41_100, last: 41_149 };
const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('the caller', () => {
  itNeeds(['tcpdump'])(
    'measures answer, greeting, reply and barge-in of an agent whose delays are known',
    async () => {
      const agent = await startKnownAgent({ ringMs: 150, hushAfterPackets: 13, hushMs: 40, echoMs: 2_500 });
      cleanups.push(() => agent.close());
      const scene = prepareScene({
        name: 'known',
        steps: [
          { do: 'interrupt', after_ms: 400, text: 'Stop that please.' },
          { do: 'listen', quiet_ms: 500, timeout_ms: 8_000 },
          { do: 'press', digits: '5#' },
        ],
      });
      const capture = await startCapture(ports);
      const lateness = monitorEventLoopDelay({ resolution: 1 });
      lateness.enable();
      const record = await new PhoneCaller({ ports }).call({ target: agent.target, scene });
      lateness.disable();
      const measures = measureCall(await capture.stop(), record, { bargeInWaitMs: 13 * 20 });

      const { times } = agent;
      // A scheduling delay makes the agent's own times inexact; the capture has the times on the wire.
      const toleranceMs = CLOCKS_MS + lateness.max / 1e6;
      expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
      expect(measures.inviteToAnswerMs).toBeGreaterThan(times.answeredMs - times.invitedMs - toleranceMs);
      expect(measures.inviteToAnswerMs).toBeLessThan(times.answeredMs - times.invitedMs + 5 * toleranceMs);
      expect(distance(measures.answerToGreetingMs, times.firstToneMs - times.answeredMs)).toBeLessThan(
        toleranceMs,
      );
      expect(
        distance(measures.bargeIns[0]?.stoppedAfterMs, times.lastToneMs - times.completingMs),
      ).toBeLessThan(toleranceMs);
      // The echo of voiced packets after the hush begins `echoMs` after the first of them.
      expect(measures.turns[0]?.replyAfterMs).toBeGreaterThan(1_000);
      expect(measures.turns[0]?.replyAfterMs).toBeLessThan(2_500);
      expect(measures.pacing?.lost).toBe(0);
      expect(agent.digits.filter(({ end }) => end).map(({ event }) => event)).toEqual([5, 5, 5, 11, 11, 11]);
      expect(agent.methods).toEqual(['INVITE', 'ACK', 'BYE']);
    },
  );

  itNeeds(['tcpdump', 'sipp'])(
    'hears its own line back from a sipp that echoes RTP, and reports how evenly the packets arrived',
    async () => {
      const port = await startSipp(['-sn', 'uas', '-rtp_echo']);
      const scene = prepareScene({
        name: 'echo',
        noise_peak: 0,
        steps: [
          { do: 'say', text: 'What are your opening hours?' },
          { do: 'pause', ms: 200 },
        ],
      });
      const capture = await startCapture(ports);
      const record = await new PhoneCaller({ ports }).call({ target: `sip:agent@127.0.0.1:${port}`, scene });
      const measures = measureCall(await capture.stop(), record, { bargeInWaitMs: 256 });

      expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
      const [action] = scene.actions;
      const said = action?.do === 'say' ? action.line.samples : new Int16Array();
      const heardMs = voicedMs(record.heard);
      expect(Math.abs(heardMs - voicedMs(said))).toBeLessThanOrEqual(40);
      expect(measures.inviteToAnswerMs).toBeGreaterThan(0);
      expect(measures.pacing).toMatchObject({ lost: 0 });
      expect(measures.pacing?.packets).toBeGreaterThan(40);
    },
  );

  itNeeds(['sipp'])('answers a digest challenge', async () => {
    const port = await startSipp(['-sf', scenario(digestScenario)]);
    const scene = prepareScene({ name: 'digest', steps: [{ do: 'pause', ms: 100 }] });
    const credentials = { username: 'alice', password: 'wonderland' };
    const record = await new PhoneCaller({ ports, credentials }).call({
      target: `sip:agent@127.0.0.1:${port}`,
      scene,
    });
    expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
  });

  itNeeds(['sipp'])('reports a refusal, and that the agent hung up', async () => {
    const scene = prepareScene({ name: 'wait', steps: [{ do: 'await_hang_up', timeout_ms: 5_000 }] });
    const caller = new PhoneCaller({ ports });
    const busy = await startSipp(['-sf', scenario(busyScenario)]);
    const refused = await caller.call({ target: `sip:agent@127.0.0.1:${busy}`, scene });
    expect(refused.outcome).toEqual({ type: 'refused', status: 486, reason: 'Busy Here' });
    const short = await startSipp(['-sf', scenario(hangUpScenario)]);
    const ended = await caller.call({ target: `sip:agent@127.0.0.1:${short}`, scene });
    expect(ended.outcome).toEqual({ type: 'answered', endedBy: 'agent' });
  });

  it('hangs up if nothing can decide what it does next', async () => {
    const agent = await startKnownAgent({ ringMs: 10, hushAfterPackets: 1, hushMs: 20, echoMs: 10 });
    cleanups.push(() => agent.close());
    const steps = [{ do: 'converse', goal: 'a table', timeout_ms: 300 }];
    const mind = {
      begin: () => undefined,
      note: () => undefined,
      ended: () => undefined,
      next: () => Promise.reject(new Error('no model')),
    };
    const scene = prepareScene({ name: 'conversation', steps });
    const calling = new PhoneCaller({ ports }).call({ target: agent.target, scene, mind });
    await expect(calling).rejects.toThrow('no model');
    expect(agent.methods.at(-1)).toBe('BYE');
  });

  itNeeds(['sipp'])('cancels a call that rings', async () => {
    const port = await startSipp(['-sf', scenario(ringingScenario)]);
    const stop = new AbortController();
    const scene = prepareScene({ name: 'cancel', steps: [{ do: 'pause', ms: 100 }] });
    const calling = new PhoneCaller({ ports }).call({
      target: `sip:agent@127.0.0.1:${port}`,
      scene,
      signal: stop.signal,
    });
    setTimeout(() => stop.abort(), 300);
    expect((await calling).outcome).toEqual({ type: 'cancelled' });
  });

  it('reports a missing tcpdump by name', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = '/nowhere';
    cleanups.push(() => {
      process.env['PATH'] = path;
    });
    await expect(startCapture(ports)).rejects.toThrow('tcpdump is not installed');
  });
});

function distance(measured: number | null | undefined, known: number): number {
  return Math.abs((measured ?? Number.POSITIVE_INFINITY) - known);
}

function voicedMs(samples: Int16Array): number {
  let frames = 0;
  for (let at = 0; at < samples.length; at += 160)
    if (samples.subarray(at, at + 160).some((sample) => Math.abs(sample) >= 500)) frames++;
  return frames * 20;
}

/** Starts a sipp for one call; resolves with its port. */
async function startSipp(args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-'));
  const port = await freeUdpPort();
  const mediaPort = await freeSippMediaPort();
  const child: ChildProcess = spawn(
    'sipp',
    ['-i', '127.0.0.1', '-p', String(port), '-mp', String(mediaPort), '-nostdin', '-m', '1', ...args],
    {
      cwd: folder,
      stdio: 'ignore',
    },
  );
  cleanups.push(async () => {
    if (child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });
  // The INVITE is repeated until sipp is ready, so no readiness check is needed.
  return port;
}

function scenario(xml: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-scenario-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'scenario.xml');
  writeFileSync(
    file,
    `<?xml version="1.0" encoding="ISO-8859-1" ?>\n<scenario name="test">\n${xml}\n</scenario>\n`,
  );
  return file;
}

function response(status: string, extra = '', body = ''): string {
  return `<send><![CDATA[
SIP/2.0 ${status}
[last_Via:]
[last_From:]
[last_To:];tag=[pid]sipp[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port];transport=[transport]>
${extra}Content-Length: [len]

${body}]]></send>`;
}

const SDP = `v=0
o=sipp 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [local_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
`;
const ACCEPTED = response('200 OK', 'Content-Type: application/sdp\n', SDP);
const BYE_OK = `<recv request="BYE"></recv>${response('200 OK')}`;
const digestScenario = `<recv request="INVITE" crlf="true"></recv>
${response('401 Unauthorized', 'WWW-Authenticate: Digest realm="test", nonce="47ebe028cda119c35d4877b383027d28da013815", qop="auth"\n')}
<recv request="ACK"></recv>
<recv request="INVITE"><action><verifyauth assign_to="1" username="alice" password="wonderland" /></action></recv>
<nop hide="true" test="1" next="good"></nop>
${response('403 Forbidden')}
<recv request="ACK" next="end"></recv>
<label id="good"/>
${ACCEPTED}
<recv request="ACK"></recv>
${BYE_OK}
<label id="end"/>`;
const busyScenario = `<recv request="INVITE"></recv>${response('486 Busy Here')}<recv request="ACK"></recv>`;
const hangUpScenario = `<recv request="INVITE" rrs="true"><action><ereg regexp=".*" search_in="hdr" header="From:" assign_to="1"/></action></recv>
${ACCEPTED}<recv request="ACK"></recv><pause milliseconds="200"/>
<send retrans="500"><![CDATA[
BYE [next_url] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:agent@[local_ip]:[local_port]>;tag=[pid]sipp[call_number]
To:[$1]
Call-ID: [call_id]
CSeq: 1 BYE
Max-Forwards: 70
Content-Length: 0

]]></send><recv response="200"></recv>`;
const ringingScenario = `<recv request="INVITE"></recv>${response('180 Ringing')}<recv request="CANCEL"></recv>${response('200 OK')}
<send><![CDATA[
SIP/2.0 487 Request Terminated
[last_Via:]
[last_From:]
[last_To:];tag=[pid]sipp[call_number]
[last_Call-ID:]
CSeq: 1 INVITE
Content-Length: 0

]]></send><recv request="ACK"></recv>`;
