/**
 * A tenant's MCP server in virtual time: the official library behind a network that delays, breaks and
 * refuses. Each way in which it treats a call is a scene.
 */
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import type { EgressGuard } from '#base/egress.ts';
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import { plannedServer } from '../runtime/tools/planned-server.ts';
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import { SimulatedSessions } from './simulated-sessions.ts';

/** The effect of a server on a call. */
export const TOOL_SERVER_SCENES = [
  /** Refuses every connection, from the ring to the end. */
  'dead',
  /** Answers late, and sometimes too late. */
  'slow',
  /** Has its tool in other words for a while in the middle of the call. */
  'changing',
  /** Answers with up to 2.5 MB. */
  'large',
  /** Works for so long that callers talk over it. */
  'interrupted',
  /** Works in the background, for longer than its timeout, with progress. */
  'long',
  /** Dies in the middle of the call and comes back. */
  'dying',
  /** Has sessions, and ends each of them now and then. */
  'expiring',
  /** Has sessions; dies in the middle of the call, and knows none of them when it is back. */
  'restarting',
  /** As `changing`, with sessions: says it on the stream of each. */
  'announcing',
  /** Has sessions; the streams of its answers break, and are resumed. */
  'cutting',
  /** Has sessions, and forgets none unless its client ends it. */
  'parting',
  /** Has sessions without streams: answers `GET` with 405. */
  'streamless',
] as const;
export type ToolServerScene = (typeof TOOL_SERVER_SCENES)[number];

/** Scenes of a server of 2025's revisions, which has sessions. */
const WITH_SESSIONS: ReadonlySet<ToolServerScene> = new Set([
  'announcing',
  'cutting',
  'expiring',
  'parting',
  'restarting',
  'streamless',
]);

/** The start of its tools' names for the model. */
export const SERVED = 'desk_';
/** The server's timeout in the agent, seconds. */
export const TIMEOUT_SECONDS = 5;
/** Between two notifications of progress, ms. */
const PROGRESS_MS = 2_000;
const ADDRESS = 'http://tools.invalid/mcp';
const OTHER_WORDS = 'Deletes all times';

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly isBackground?: true;
  run(call: ToolRun): Promise<string>;
}

interface ToolRun {
  readonly signal: AbortSignal;
  progress(done: number): Promise<void>;
}

/** One call that reached the server. */
export interface ServedCall {
  readonly tool: string;
  /** Description of the tool when it was called. */
  readonly words: string;
  /** Id of the call in the session's timeline. */
  readonly callId: string;
  readonly atMs: number;
  /** Null while it runs. */
  endMs: number | null;
}

/** A span of virtual time, ms. */
export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The simulated server. */
export class SimulatedToolServer {
  readonly scene: ToolServerScene;
  /** The server as the plan has it. */
  readonly planned: PlannedToolServer;
  readonly calls: ServedCall[] = [];
  /** When it is dead. */
  readonly down: Span;
  /** When its tool has other words than published. */
  readonly changed: Span;
  /** Requests that have no end yet. */
  openRequests = 0;
  /** When it first refused a connection. */
  refusedMs = Number.POSITIVE_INFINITY;
  /** Null for a server without sessions. */
  readonly sessions: SimulatedSessions | null;
  /** Ids of calls whose stream was broken before the answer. */
  readonly cut = new Set<string>();
  readonly #clock: SimulatedClock;
  readonly #random: Random;
  readonly #tools: readonly Tool[];
  readonly #connections = new Set<AbortController>();
  #handler = this.#boot();

  constructor(scene: ToolServerScene, { clock, random }: { clock: SimulatedClock; random: Random }) {
    this.scene = scene;
    this.#clock = clock;
    this.#random = random;
    this.#tools = toolsOf(scene, clock, random);
    this.sessions = WITH_SESSIONS.has(scene)
      ? new SimulatedSessions({ instance: () => this.#instance(), hasStreams: scene !== 'streamless' })
      : null;
    const fromMs = clock.now() + random.between(3_000, 20_000);
    const later = { fromMs, untilMs: fromMs + random.between(2_000, 40_000) };
    const never = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY };
    const dies = scene === 'dying' || scene === 'restarting';
    this.changed = scene === 'changing' || scene === 'announcing' ? later : never;
    this.down = scene === 'dead' ? { fromMs: 0, untilMs: Number.POSITIVE_INFINITY } : dies ? later : never;
    const at = (atMs: number, act: () => void) => {
      if (Number.isFinite(atMs)) clock.after(atMs - clock.now(), act);
    };
    for (const atMs of [this.changed.fromMs, this.changed.untilMs]) at(atMs, () => this.#tellChanged());
    if (dies) at(fromMs, () => this.#die());
    if (scene === 'expiring')
      for (const atMs of [later.fromMs, later.untilMs]) at(atMs, () => this.sessions?.forget());
    const planned = plannedServer(ADDRESS, this.#tools, { timeout_seconds: TIMEOUT_SECONDS });
    const background = new Set(this.#tools.filter((tool) => tool.isBackground).map(({ name }) => name));
    this.planned = {
      ...planned,
      tools: planned.tools.map((tool) => ({
        ...tool,
        execution_mode: background.has(tool.name) ? ('background' as const) : ('blocking' as const),
      })),
    };
  }

  /** The network between a worker and the server. */
  readonly egress: Pick<EgressGuard, 'fetch'> = {
    // Node's own types of `fetch` and undici's differ in name only.
    fetch: ((url: string, init: RequestInit) => this.#answer(url, init)) as never,
  };

  /** Whether a moment is in a span. */
  isIn({ fromMs, untilMs }: Span, atMs = this.#clock.now()): boolean {
    return atMs >= fromMs && atMs < untilMs;
  }

  #boot() {
    return createMcpHandler(() => this.#instance(), { keepAliveMs: 0 });
  }

  /** Every connection breaks, and what ran is lost. */
  #die(): void {
    for (const connection of this.#connections) connection.abort(new Error('the server is gone'));
    for (const call of this.calls) call.endMs ??= this.#clock.now();
    this.sessions?.forget();
    this.#handler = this.#boot();
  }

  #tellChanged(): void {
    if (this.sessions) this.sessions.toolsChanged();
    else this.#handler.notify.toolsChanged();
  }

  async #answer(url: string, init: RequestInit): Promise<Response> {
    const { signal } = init;
    const connection = new AbortController();
    const ended = AbortSignal.any([connection.signal, ...(signal ? [signal] : [])]);
    this.openRequests += 1;
    this.#connections.add(connection);
    const end = () => {
      if (this.#connections.delete(connection)) this.openRequests -= 1;
    };
    try {
      await this.#clock.sleep(this.#latencyMs(), ended);
      if (this.isIn(this.down)) {
        this.refusedMs = Math.min(this.refusedMs, this.#clock.now());
        throw refusedConnection();
      }
      const handler = this.sessions ?? this.#handler;
      const response = await handler.fetch(new Request(url, { ...init, signal: ended }));
      await this.#clock.sleep(this.#latencyMs(), ended);
      this.sessions?.received(response);
      return relayed(response, ended, { onEnd: end, isCut: this.#cuts(init) });
    } catch (error) {
      end();
      throw ended.aborted ? ended.reason : error;
    }
  }

  /** Whether the network breaks the stream of this request's answer. */
  #cuts({ body }: RequestInit): boolean {
    const [, callId] = /"call":"([^"]+)"/.exec(typeof body === 'string' ? body : '') ?? [];
    if (this.scene !== 'cutting' || callId === undefined || !this.#random.chance(0.5)) return false;
    this.cut.add(callId);
    return true;
  }

  #latencyMs(): number {
    return this.scene === 'slow' && this.#random.chance(0.5)
      ? this.#random.between(500, 6_000)
      : this.#random.between(1, 40);
  }

  #wordsOf({ description }: Tool): string {
    return this.isIn(this.changed) ? OTHER_WORDS : description;
  }

  #instance(): Server {
    const server = new Server(
      { name: 'simulated', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: this.#tools.map((tool) => ({
        name: tool.name,
        description: this.#wordsOf(tool),
        inputSchema: { type: 'object' as const },
      })),
    }));
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const tool = this.#tools.find(({ name }) => name === params.name);
      if (!tool) throw new Error(`there is no tool ${params.name}`);
      const call: ServedCall = {
        tool: tool.name,
        words: this.#wordsOf(tool),
        callId: String(params.arguments?.['call']),
        atMs: this.#clock.now(),
        endMs: null,
      };
      this.calls.push(call);
      const progressToken = mcpReq._meta?.progressToken;
      const progress = async (done: number) => {
        if (progressToken === undefined) return;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: done } });
      };
      try {
        const text = await tool.run({ signal: mcpReq.signal, progress });
        return { content: [{ type: 'text' as const, text }] };
      } finally {
        call.endMs ??= this.#clock.now();
      }
    });
    return server;
  }
}

function toolsOf(scene: ToolServerScene, clock: SimulatedClock, random: Random): Tool[] {
  const slots: Tool = {
    name: 'slots',
    description: 'Free times',
    run: async ({ signal }) => {
      await clock.sleep(random.between(5, 1_500), signal);
      return 'nine and ten';
    },
  };
  const report: Tool = {
    name: 'report',
    description: 'Everything there is',
    run: async () => 'x'.repeat(random.pick([1_000, 60_000, 100_000, 2_500_000])),
  };
  const wait: Tool = {
    name: 'wait',
    description: 'Works for long',
    run: async ({ signal, progress }) => {
      await worked(random.between(1_000, 20_000), { clock, signal, progress });
      return 'done at last';
    },
  };
  if (scene === 'large') return [slots, report];
  if (scene === 'interrupted') return [wait];
  return scene === 'long' ? [{ ...wait, isBackground: true }] : [slots];
}

/** Works for this time, and says so now and then. */
async function worked(
  ms: number,
  { clock, signal, progress }: ToolRun & { readonly clock: SimulatedClock },
): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= PROGRESS_MS) {
    await clock.sleep(Math.min(PROGRESS_MS, leftMs), signal);
    await progress(ms - leftMs);
  }
}

/** As `fetch` of Node words it. */
function refusedConnection(): TypeError {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  return new TypeError('fetch failed', { cause });
}

/**
 * The same response; its body breaks when `ended` aborts, or, if it `isCut`, after its first piece. `onEnd`
 * is called once the body is over.
 */
function relayed(
  response: Response,
  ended: AbortSignal,
  { isCut, onEnd }: { readonly isCut: boolean; readonly onEnd: () => void },
): Response {
  const { status, headers, body } = response;
  if (!body) {
    onEnd();
    return new Response(null, { status, headers });
  }
  const reader = body.getReader();
  let pieces = 0;
  const relay = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const onAbort = () => {
        onEnd();
        reader.cancel(ended.reason).catch(() => undefined);
        controller.error(ended.reason);
      };
      if (ended.aborted) onAbort();
      else ended.addEventListener('abort', onAbort, { once: true });
    },
    pull: async (controller) => {
      const isBroken = isCut && pieces > 0;
      if (isBroken) {
        onEnd();
        await reader.cancel();
        controller.error(new TypeError('terminated'));
        return;
      }
      const { value, done } = await reader.read();
      if (ended.aborted) return;
      if (!done) {
        pieces += 1;
        controller.enqueue(value);
        return;
      }
      onEnd();
      controller.close();
    },
    cancel: (reason) => {
      onEnd();
      return reader.cancel(reason);
    },
  });
  return new Response(relay, { status, headers });
}
