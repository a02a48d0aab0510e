/** Invariants of calls whose agent has a tool server, whatever the server does. */
import { LIMITS } from '#config/limits.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { ServedTools } from './served-tools.ts';
import type { SimulatedCall } from './simulate-call.ts';
import { SIMULATED_EPOCH_MS } from './simulated-clock.ts';

const NOTICE = 'The tools of Desk cannot be reached at the moment, so promise nothing that needs them.';
/** A dead server is known to be dead soon after its first refusal. */
const NOTICED_MS = 1_000;
/** Pauses between attempts to connect grow to 30 s, and an attempt takes a moment. */
const FOUND_AGAIN_MS = 33_000;
/** A changed list is read at most once a second, and the server takes a moment. */
const READ_AGAIN_MS = 3_000;
/** A server learns of an interruption by the request that closes, or, with sessions, by one more request. */
const toldWithinMs = ({ sessions }: ServedTools['server']) => (sessions ? 50 : 1);
/** The longest result with the words that say it was cut. */
const LONGEST_RESULT = LIMITS.serverResultBytes + 200;
/** Words of a call that was given up although it made progress. */
const TIMED_OUT = /^timed out after/;
/** Words of a call whose answer was lost on its way. */
const LOST_STREAM = /^(?:the connection broke|the stream ended|timed out)/;

type ToolResult = Extract<SessionItem, { type: 'tool_result' }>;

/** Every such invariant that a call violates. `without` is the same call without the server. */
export function toolServerViolations(
  call: SimulatedCall,
  served: ServedTools,
  without: SimulatedCall,
): string[] {
  return [
    ...greetingViolations(call, without),
    ...noticeViolations(served),
    ...callViolations(served, call),
    ...resultViolations(served, call),
    ...sessionViolations(served, call),
    ...(served.server.openRequests > 0 ? [`${served.server.openRequests} requests are left open`] : []),
  ];
}

/** The first words do not wait for a server. A caller who has spoken before may hear something else first. */
function greetingViolations(call: SimulatedCall, without: SimulatedCall): string[] {
  const [begun, unburdened] = [begunMs(call), begunMs(without)];
  const isFirst =
    unburdened !== null && [...call.acts, ...without.acts].every(({ atMs }) => atMs > unburdened);
  return !call.isGreeted || !isFirst || begun === unburdened
    ? []
    : [`the greeting begins at ${begun}, without the server at ${unburdened}`];
}

/** When the first words were sent; null if none were. */
function begunMs({ played }: SimulatedCall): number | null {
  return played.find(({ startedMs }) => startedMs !== null)?.startedMs ?? null;
}

/** The model reads one sentence while the tools are missing, and none while they are there. */
function noticeViolations({ requests, server }: ServedTools): string[] {
  const { changed, down, scene } = server;
  return requests.flatMap(({ atMs, notices, offered }) => {
    const at = `the request at ${atMs.toFixed(0)}`;
    const found: string[] = [];
    if (notices.length > 1 || notices.some((notice) => notice !== NOTICE))
      found.push(`${at} says ${JSON.stringify(notices)}`);
    if (notices.length > 0 && offered.length > 0) found.push(`${at} offers tools that cannot be reached`);
    if (notices.length === 0 && offered.length === 0 && !Number.isFinite(changed.fromMs))
      found.push(`${at} has lost the tools without a word`);
    if (scene === 'dead' && atMs > server.refusedMs + NOTICED_MS && notices.length === 0)
      found.push(`${at} does not say that the server is dead`);
    if (Number.isFinite(down.untilMs) && atMs > down.untilMs + FOUND_AGAIN_MS && offered.length === 0)
      found.push(`${at} does not offer the tools of a server that is back`);
    return found;
  });
}

/** A tool is called once, as it was published, and told when its result is no longer wanted. */
function callViolations({ server }: ServedTools, { endedMs }: SimulatedCall): string[] {
  const { calls, changed } = server;
  const ids = calls.map(({ callId }) => callId);
  return calls.flatMap(({ atMs, callId, endMs, tool }) => {
    const found: string[] = [];
    if (ids.indexOf(callId) !== ids.lastIndexOf(callId)) found.push(`${callId} reached the server twice`);
    if (server.isIn({ ...changed, fromMs: changed.fromMs + READ_AGAIN_MS }, atMs))
      found.push(`${tool} is called at ${atMs.toFixed(0)} although it is not as published`);
    if (endMs === null) found.push(`${callId} still runs after the call`);
    else if (endedMs !== null && endMs > endedMs + toldWithinMs(server))
      found.push(`${callId} was not told of the end`);
    return found;
  });
}

function resultsIn({ reports }: SimulatedCall): ToolResult[] {
  const items = reports.flatMap((report): SessionItem[] => (report.type === 'items' ? report.items : []));
  return items.filter((item): item is ToolResult => item.type === 'tool_result');
}

/** A session that is gone costs no call, and a broken stream no answer; at the end none is left behind. */
function sessionViolations({ server }: ServedTools, call: SimulatedCall): string[] {
  const { cut, sessions } = server;
  if (!sessions) return [];
  const found = resultsIn(call).flatMap(({ call_id, error }) => {
    if (error?.includes('HTTP 404')) return [`${call_id} fails because its session is gone`];
    if (cut.has(call_id) && error !== null && LOST_STREAM.test(error))
      return [`${call_id} fails although its stream can be resumed`];
    return [];
  });
  return sessions.left > 0 ? [...found, `${sessions.left} sessions are left at the server`] : found;
}

function resultViolations({ server }: ServedTools, call: SimulatedCall): string[] {
  return resultsIn(call).flatMap(({ call_id, created_at, error, output }) => {
    const ran = server.calls.find(({ callId }) => callId === call_id);
    if (!ran) return [];
    const found: string[] = [];
    const atMs = Date.parse(created_at) - SIMULATED_EPOCH_MS;
    if (Buffer.byteLength(output ?? '') > LONGEST_RESULT) found.push(`${call_id} has too long a result`);
    if (
      error === 'the caller interrupted' &&
      (ran.endMs ?? Number.POSITIVE_INFINITY) > atMs + toldWithinMs(server)
    )
      found.push(`${call_id} goes on at the server after the interruption`);
    if (TIMED_OUT.test(error ?? '') && (server.scene === 'long' || server.scene === 'interrupted'))
      found.push(`${call_id} is given up although it makes progress`);
    return found;
  });
}
