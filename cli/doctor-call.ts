/** The doctor's test call: calls an agent of the running product, and checks for audio in both directions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { hostPort } from '#base/public-address.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { CALLER_RATE_HZ, prepareScene } from '#caller/scene.ts';
import { voicedSeconds } from '#caller/voiced.ts';
import { parseWav } from '#caller/wav.ts';
import type { Api } from './api.ts';
import type { CheckResult } from './check-result.ts';

/** RTP ports of the caller: outside the default RTP range and below the ephemeral ports. */
const PORTS = { first: 30_100, last: 30_199 };
const SETTLE_MS = 30_000;
const POLL_MS = 500;
const SUBJECT = 'Test call';
/** Minimum voice that counts as heard. */
const HEARD_SECONDS = 0.3;

// biome-ignore lint/suspicious/noExplicitAny: rows of the API, which defines their schemas
type Row = any;

/** Calls, says a sentence, hangs up, and checks what each side heard. */
export async function checkCall(
  api: Api,
  to: { readonly sip: { readonly host: string; readonly port: number }; readonly number: string | undefined },
): Promise<CheckResult> {
  const number = to.number ?? (await answeredNumber(api));
  if (number === null)
    return {
      subject: SUBJECT,
      verdict: 'note',
      result: 'skipped: no number has an agent',
      fix: 'bind an agent to a number (README, “Make an agent”), or pass --number',
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
      subject: SUBJECT,
      verdict: 'failed',
      result: `${number}: ${why}`,
      fix: 'see GET /v1/agent/refusals for the reason, and docs/errors.md for the SIP status',
    };
  }
  const agentSeconds = voicedSeconds(heard, CALLER_RATE_HZ);
  if (agentSeconds < HEARD_SECONDS)
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: `${number} answered, but the caller heard nothing`,
      fix: 'its audio does not arrive: check SIP_PUBLIC_IP, NAT, and the firewall for the RTP range (UDP)',
    };
  const callerSeconds = await recordedSeconds(api, callId);
  if (callerSeconds === null)
    return {
      subject: SUBJECT,
      verdict: 'note',
      result:
        `${number} was heard for ${agentSeconds.toFixed(1)} s; its agent does not record, so the other ` +
        'direction was not measured',
    };
  if (callerSeconds < HEARD_SECONDS)
    return {
      subject: SUBJECT,
      verdict: 'failed',
      result: `${number} answered, but the agent heard nothing`,
      fix:
        'the caller’s audio does not reach the RTP range: open the range in the firewall (UDP), and ' +
        'forward it if the machine is behind NAT',
    };
  return {
    subject: SUBJECT,
    verdict: 'ok',
    result: `${number} was heard for ${agentSeconds.toFixed(1)} s and heard ${callerSeconds.toFixed(1)} s`,
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
