/**
 * The doctor's test call: phones an agent of the running product, and checks that both sides heard each
 * other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { hostPort } from '#base/public-address.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { CALLER_RATE_HZ, prepareScene } from '#caller/scene.ts';
import { voicedSeconds } from '#caller/voiced.ts';
import { parseWav } from '#caller/wav.ts';
import type { Api } from './api.ts';
import type { Finding } from './check-result.ts';

/** Its own ports: below the RTP range's default and the ports of outgoing connections. */
const PORTS = { first: 30_100, last: 30_199 };
const SETTLE_MS = 30_000;
const POLL_MS = 500;
const WHAT = 'Test call';
/** Least voice that counts as heard. */
const HEARD_SECONDS = 0.3;

// biome-ignore lint/suspicious/noExplicitAny: rows of the API, whose schemas are the API's own
type Row = any;

/** Calls, says a sentence, hangs up, and reads the product's record. */
export async function checkCall(
  api: Api,
  to: { readonly sip: { readonly host: string; readonly port: number }; readonly number: string | undefined },
): Promise<Finding> {
  const number = to.number ?? (await answeredNumber(api));
  if (number === null)
    return {
      what: WHAT,
      verdict: 'note',
      found: 'not made: no number has an agent',
      advice: 'bind one (README, “Make an agent”), or give a number with --number',
    };
  const scene = prepareScene({
    name: 'doctor',
    steps: [
      { do: 'listen' },
      { do: 'say', text: 'What are your opening hours?' },
      { do: 'listen', timeout_ms: 5_000 },
    ],
  });
  const { outcome, callId, heard } = await new PhoneCaller({ ports: PORTS }).call({
    target: `sip:${number}@${hostPort(to.sip.host, to.sip.port)}`,
    scene,
  });
  if (outcome.type !== 'answered') {
    const why =
      outcome.type === 'refused' ? `refused with ${outcome.status} ${outcome.reason}` : 'not answered';
    return {
      what: WHAT,
      verdict: 'failed',
      found: `${number}: ${why}`,
      advice: 'docs/errors.md says what a SIP status means; GET /v1/agent/refusals names the call',
    };
  }
  const agentSeconds = voicedSeconds(heard, CALLER_RATE_HZ);
  if (agentSeconds < HEARD_SECONDS)
    return {
      what: WHAT,
      verdict: 'failed',
      found: `${number} answered and nothing was heard`,
      advice:
        'the agent’s audio is lost on the way: check SIP_PUBLIC_IP, NAT, and the firewall for the RTP ' +
        'range (UDP)',
    };
  const callerSeconds = await recordedSeconds(api, callId);
  if (callerSeconds === null)
    return {
      what: WHAT,
      verdict: 'note',
      found:
        `${number} was heard for ${agentSeconds.toFixed(1)} s; its agent does not record, so the ` +
        'other ' +
        'direction was not measured',
    };
  if (callerSeconds < HEARD_SECONDS)
    return {
      what: WHAT,
      verdict: 'failed',
      found: `${number} answered, but heard nothing`,
      advice:
        'the caller’s audio does not reach the RTP range: open it in the firewall (UDP), and forward it ' +
        'where there is NAT',
    };
  return {
    what: WHAT,
    verdict: 'ok',
    found: `${number} was heard for ${agentSeconds.toFixed(1)} s and heard ${callerSeconds.toFixed(1)} s`,
  };
}

async function answeredNumber(api: Api): Promise<string | null> {
  for await (const number of api.list('/v1/agent/phone-numbers', 'phone_numbers')) {
    if (number.status === 'active' && number.agent_id !== null) return number.phone_number;
  }
  return null;
}

/** Voice on the caller's track of the recording; null if there is no recording. */
async function recordedSeconds(api: Api, callId: string): Promise<number | null> {
  const limitMs = performance.now() + SETTLE_MS;
  const query = new URLSearchParams({
    sip_call_id: callId,
    status: 'pending,active,unknown,completed,failed',
  });
  for (;;) {
    const { sessions } = await api.get(`/v1/agent/sessions?${query}`);
    const isOver = sessions[0]?.status === 'completed';
    const recording: Row = isOver
      ? await api.get(`/v1/agent/sessions/${sessions[0].session_id}/recording`).catch(() => null)
      : null;
    if (recording?.status === 'complete')
      return trackSeconds(recording.tracks.find(({ role }: Row) => role === 'user'));
    if (performance.now() > limitMs) return null;
    await sleep(POLL_MS);
  }
}

async function trackSeconds(track: Row): Promise<number | null> {
  if (!track?.url) return null;
  const response = await fetch(track.url);
  if (!response.ok) return null;
  const { samples, rateHz } = parseWav(Buffer.from(await response.arrayBuffer()));
  return voicedSeconds(samples, rateHz);
}
