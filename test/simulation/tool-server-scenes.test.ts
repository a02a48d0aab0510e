import { describe, expect, it } from 'vitest';
import type { SessionItem } from '#protocol/session-record.ts';
import type { SimulatedCall } from './simulate-call.ts';
import type { SimulatedSessions } from './simulated-sessions.ts';
import { TOOL_SERVER_SCENES, type ToolServerScene } from './simulated-tool-server.ts';
import { simulateScene } from './tool-server-scenes.ts';

/** `SIMULATION_SCENES=500` runs more calls of each scene. */
const CALLS = Number(process.env['SIMULATION_SCENES'] ?? 40);

/** Results of the server's tools. */
const resultsOf = ({ reports }: SimulatedCall) =>
  reports
    .flatMap((report): SessionItem[] => (report.type === 'items' ? report.items : []))
    .flatMap((item) => (item.type === 'tool_result' && item.tool_name.startsWith('desk_') ? [item] : []));

const isChange = (error: string | null) => error?.startsWith('the tool has changed at its server') === true;
const isCut = ({ served }: SimulatedCall, callId: string) => served?.server.cut.has(callId) === true;

/** The tools were offered again after the server's death. */
function isBackInCall({ served }: SimulatedCall): boolean {
  const isBack = (atMs: number) => served !== null && atMs > served.server.down.untilMs;
  return served?.requests.some(({ atMs, offered }) => isBack(atMs) && offered.length > 0) === true;
}

/** A tool has run, and the server's sessions are as they should be. */
function hasCompleted(
  call: SimulatedCall,
  isSo: (given: { readonly sessions: SimulatedSessions }) => boolean,
): boolean {
  const sessions = call.served?.server.sessions;
  return !!sessions && isSo({ sessions }) && resultsOf(call).some(({ status }) => status === 'completed');
}

/** The events that at least one call of each scene must have, so that the scene is what its name says. */
const SHOWN: Readonly<Record<ToolServerScene, (call: SimulatedCall) => boolean>> = {
  dead: ({ served }) => served?.requests.some(({ notices }) => notices.length === 1) === true,
  slow: (call) => resultsOf(call).some(({ status }) => status === 'failed'),
  changing: (call) => resultsOf(call).some(({ error }) => isChange(error)),
  large: (call) =>
    resultsOf(call).some(({ output_truncated }) => output_truncated) ||
    resultsOf(call).some(({ error }) => error?.startsWith('the answer is longer than') === true),
  interrupted: (call) => resultsOf(call).some(({ error }) => error === 'the caller interrupted'),
  long: ({ served }) => served?.requests.some(({ event }) => event?.includes('done at last')) === true,
  dying: isBackInCall,
  expiring: (call) => hasCompleted(call, ({ sessions }) => sessions.refused > 0),
  restarting: (call) => isBackInCall(call) && hasCompleted(call, ({ sessions }) => sessions.refused > 0),
  announcing: (call) => resultsOf(call).some(({ error }) => isChange(error)),
  cutting: (call) =>
    hasCompleted(call, ({ sessions }) => sessions.resumed > 0) &&
    resultsOf(call).some(({ call_id, status }) => status === 'completed' && isCut(call, call_id)),
  parting: (call) => hasCompleted(call, ({ sessions }) => sessions.ended === 1 && sessions.left === 0),
  streamless: (call) => hasCompleted(call, ({ sessions }) => sessions.ended === 1),
};

describe('simulated calls of an agent with a tool server', () => {
  it.each(TOOL_SERVER_SCENES)(
    'hold every invariant in the scene “%s”, and the scene takes place',
    async (scene) => {
      const failed: string[] = [];
      let shown = 0;
      for (let seed = 1; seed <= CALLS; seed++) {
        const { call, violations } = await simulateScene(seed, scene);
        const again = `npm run simulate -- --seed ${seed} --tool-server ${scene}`;
        failed.push(...violations.map((violation) => `${again}: ${violation}`));
        if (SHOWN[scene](call)) shown += 1;
        if (failed.length > 20) break;
      }
      expect(failed).toEqual([]);
      expect(shown).toBeGreaterThan(0);
    },
    600_000,
  );

  it('are reproducible from the same seed', async () => {
    for (let seed = 1; seed <= TOOL_SERVER_SCENES.length; seed++) {
      const [first, second] = [await simulateScene(seed), await simulateScene(seed)];
      expect(second.call.reports, `seed ${seed}`).toEqual(first.call.reports);
      expect(second.call.served?.requests, `seed ${seed}`).toEqual(first.call.served?.requests);
    }
  });
});
