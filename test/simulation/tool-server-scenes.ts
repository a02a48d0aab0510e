/** Calls with a tool server: each seed has one scene, and is compared with the same call without a server. */
import { violations } from './invariants.ts';
import { type SimulatedCall, simulateCall } from './simulate-call.ts';
import { TOOL_SERVER_SCENES, type ToolServerScene } from './simulated-tool-server.ts';
import { toolServerViolations } from './tool-server-invariants.ts';

/** The scene of a seed. */
export function sceneOf(seed: number): ToolServerScene {
  return TOOL_SERVER_SCENES[seed % TOOL_SERVER_SCENES.length] ?? 'dead';
}

/** Runs a seed's call with a server; returns it with what it violates. */
export async function simulateScene(
  seed: number,
  scene = sceneOf(seed),
): Promise<{ readonly call: SimulatedCall; readonly violations: readonly string[] }> {
  const [call, without] = [await simulateCall(seed, { toolServer: scene }), await simulateCall(seed)];
  return {
    call,
    violations: [
      ...violations(call),
      ...(call.served ? toolServerViolations(call, call.served, without) : []),
    ],
  };
}
