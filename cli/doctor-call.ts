/**
 * The doctor's test calls: phones the demo agent as a softphone on this machine would, from the loopback and
 * from the network card's address, and checks for audio in both directions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopback } from '#base/public-address.ts';
import type { CallOutcome, CallRecord } from '#caller/caller.ts';
import { CALLER_RATE_HZ, prepareScene } from '#caller/scene.ts';
import { voicedSeconds } from '#caller/voiced.ts';
import { explainUnheard } from '#protocol/explain-unheard.ts';
import type { UnheardCaller } from '#protocol/session-record.ts';
import { type Api, CommandError, type Json } from './api.ts';
import type { CheckResult } from './check-result.ts';
import { callerAddresses, placeTestCall } from './place-test-call.ts';
import {
  type PermittedCall,
  permitTestCall,
  type SipAddress,
  type TestCallPermit,
} from './test-call-permit.ts';

const PORTS = { first: 30_100, last: 30_199 };
const SETTLE_MS = 30_000;
const POLL_MS = 500;
const QUESTION = 'What are your opening hours?';
/** Minimum voice that counts as heard. */
const HEARD_SECONDS = 0.3;

/** Calls from each address of this machine that a softphone may use. */
export async function* checkCalls(
  api: Pick<Api, 'get'>,
  sip: SipAddress,
  number: string | undefined,
): AsyncGenerator<CheckResult> {
  const addresses = callerAddresses(sip.host);
  if (addresses.length === 0)
    yield {
      subject: 'Test call',
      verdict: 'note',
      result: `skipped: this machine has no IPv4 address that could reach ${sip.host}`,
      fix: 'run the doctor on the product’s machine, or on one with a network card',
    };
  for (const from of addresses) {
    const subject = `Test call from ${from}`;
    try {
      const permit = await permitTestCall(api, number);
      const permitted = permit?.call;
      const finding = permitted ? await checkCall(api, { sip, from, permitted }) : skipped(permit);
      yield { subject, ...finding };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      yield {
        subject,
        verdict: 'failed',
        result: error.message,
        ...(error.reason === 'number_not_found' && { fix: 'pass another number with --number' }),
      };
    }
  }
}

type Finding = Omit<CheckResult, 'subject'>;

function skipped(permit: TestCallPermit | null): Finding {
  return permit
    ? {
        verdict: 'note',
        result: 'skipped: the demo agent answers no number',
        fix: 'pass the number of another agent with --number',
      }
    : {
        verdict: 'note',
        result: 'skipped: it is free and unlisted, which only the operator’s key permits',
        fix: 'run the doctor with the operator’s key',
      };
}

interface TestCall {
  readonly sip: SipAddress;
  /** Address of this machine. */
  readonly from: string;
  readonly permitted: PermittedCall;
}

async function checkCall(api: Pick<Api, 'get'>, testCall: TestCall): Promise<Finding> {
  const { outcome, heard } = await place(testCall);
  const number = testCall.permitted.phone_number;
  if (outcome.type !== 'answered') return unanswered(outcome, testCall);
  const agentSeconds = voicedSeconds(heard, CALLER_RATE_HZ);
  if (agentSeconds < HEARD_SECONDS)
    return {
      verdict: 'failed',
      result: `${number} answered, but the caller heard nothing`,
      fix: 'its audio does not arrive: check SIP_PUBLIC_IP, NAT, and the firewall for the RTP range (UDP)',
    };
  const session = await endedSession(api, testCall.permitted);
  const received: number = session.media_quality?.packets_received ?? 0;
  const unheard: UnheardCaller | undefined = session.media_quality?.unheard;
  const cause = unheard ? ` (${explainUnheard(unheard)})` : '';
  if (received === 0)
    return {
      verdict: 'failed',
      result: `${number} answered, but the agent heard nothing${cause}`,
      fix:
        'the caller’s audio does not reach the RTP range: open the range in the firewall (UDP), and ' +
        'forward it if the machine is behind NAT',
    };
  const understood = session.items
    .filter(({ role }: Json) => role === 'user')
    .map(({ content }: Json) => content)
    .join(' ');
  return {
    verdict: 'ok',
    result:
      `${number} was heard for ${agentSeconds.toFixed(1)} s, and received ${received} packets` +
      (understood === '' ? '' : `: “${understood}”`),
  };
}

function unanswered(outcome: CallOutcome, { sip, from, permitted }: TestCall): Finding {
  const number = permitted.phone_number;
  if (outcome.type !== 'refused')
    return { verdict: 'failed', result: `${number} did not answer`, fix: 'see the log of the workers' };
  const result = `${number} refused it: ${outcome.status} ${outcome.reason}`;
  if (outcome.status !== 403)
    return { verdict: 'failed', result, fix: 'docs/errors.md explains the SIP status' };
  return {
    // Where other machines can call, the card's address of this one is not trusted by default.
    verdict: isLoopback(sip.host) || isLoopback(from) ? 'failed' : 'note',
    result,
    fix: 'to phone from this address, add it to SIP_TRUSTED',
  };
}

function place({ sip, from, permitted }: TestCall): Promise<CallRecord> {
  const scene = prepareScene({
    name: 'doctor',
    steps: [{ do: 'listen' }, { do: 'say', text: QUESTION }, { do: 'listen', timeout_ms: 5_000 }],
  });
  const { phone_number: called, header } = permitted;
  return placeTestCall({ sip, from, ports: PORTS }, { called, header }, scene);
}

/** The session of the call once it has ended; as it is after 30 s. */
async function endedSession(
  api: Pick<Api, 'get'>,
  { agent_id: agentId, session_id: sessionId }: PermittedCall,
): Promise<Json> {
  const limitMs = performance.now() + SETTLE_MS;
  for (;;) {
    const session = await api.get(`/v1/agent/agents/${agentId}/preview-sessions/${sessionId}`);
    if (session.status === 'completed' || performance.now() > limitMs) return session;
    await sleep(POLL_MS);
  }
}
