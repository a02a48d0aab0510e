/**
 * Runs calls from browsers and in LiveKit rooms at the same time, and measures the CPU of the product's
 * processes. Callers and the LiveKit server are other processes.
 */
import { prepareScene } from '#caller/scene.ts';
import { callOverWeb } from '#caller/web-caller.ts';
import type { Timeline } from '#protocol/audible-timeline.ts';
import type { Product } from '#test/journeys/product.ts';
import { questionsScene } from './call-load.ts';
import { placeCall } from './comparison/place-call.ts';
import { type CallSpan, cpuCost } from './cpu-cost.ts';
import { type Figure, judge } from './figures.ts';
import { watchProduct } from './product-use.ts';

/** CPU seconds of a call-minute, by the way of its media. */
const LIMITS = { direct: 1.5, room: 3 } as const;
const NAMES = {
  direct: { one: '1 direct call', several: 'direct calls' },
  room: { one: '1 call in a LiveKit room', several: 'calls in LiveKit rooms' },
} as const;
const IDLE_MS = 5_000;

/** How the media goes: straight to the worker, or through a LiveKit server. */
export type WebWay = keyof typeof LIMITS;

/** Options of a load. */
export interface WebLoadOptions {
  readonly way: WebWay;
  readonly agentId: string;
  readonly calls: number;
  /** Plain turns per call, followed by half as many interruptions. */
  readonly turns: number;
  /** Called once when the calls are placed. The load waits for it, too. */
  readonly whileUp?: () => Promise<void>;
}

/** Places the calls, plays their scenes and returns the product's CPU seconds per call-minute. */
export async function runWebLoad(
  product: Product,
  { way, agentId, calls, turns, whileUp }: WebLoadOptions,
): Promise<number> {
  // The first call of a process loads and compiles, so it is not measured.
  await callAgent(product, { way, agentId, seed: 0, turns: 1 });
  const stopWatching = await watchProduct(product.processes(), { idleMs: IDLE_MS });
  const watched = whileUp?.();
  const spans = await Promise.all(
    Array.from({ length: calls }, async (_, index): Promise<CallSpan> => {
      const placedMs = performance.now();
      const { agent } = await callAgent(product, { way, agentId, seed: index + 1, turns });
      const greetedMs = (agent[0]?.firstMs ?? Number.NaN) - performance.timeOrigin;
      return { placedMs, answeredMs: greetedMs, endedMs: performance.now() };
    }),
  );
  const { samples, idlePerSecond } = stopWatching();
  await watched;
  return cpuCost(samples, spans, idlePerSecond).perCallMinute;
}

/** The figure of a load; a reason instead of the CPU seconds says why they were not measured. */
export function webFigure(way: WebWay, calls: number, measured: number | string): Figure {
  const isMeasured = typeof measured === 'number';
  const { one, several } = NAMES[way];
  const load = `${calls === 1 ? one : `${calls} ${several}`}${isMeasured ? '' : `: ${measured}`}`;
  return judge(
    {
      what: 'CPU of all threads per call-minute, web',
      load,
      unit: 's',
      samples: isMeasured ? calls : 0,
      digits: 2,
    },
    [{ name: '', value: isMeasured ? measured : Number.NaN, limit: LIMITS[way] }],
  );
}

async function callAgent(
  product: Product,
  call: { readonly way: WebWay; readonly agentId: string; readonly seed: number; readonly turns: number },
): Promise<Timeline> {
  const scene = questionsScene(call.seed, call.turns);
  const grant = await product.ask('POST', '/v1/agent/sessions', { agent_id: call.agentId });
  if (call.way === 'direct') return callOverWeb(grant, prepareScene(scene), () => undefined);
  return placeCall({ grant: { url: grant.livekit_url, token: grant.token }, scene }, () => undefined);
}
