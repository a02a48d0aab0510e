/**
 * Journey: web sessions in LiveKit rooms of a real server: a conversation in the browser, a caller with
 * LiveKit's own client, a listener, the widget, and an unavailable server.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { createLogger } from '#base/log.ts';
import { parseMoney, perMinute } from '#base/money.ts';
import { readSettings } from '#config/env.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { describeNeeds, has, itNeeds } from '#test/needs.ts';
import { describeColleagueInRoom } from './colleague.ts';
import { ConsolePage } from './console-page.ts';
import { ASKED, QUESTION, record } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import { Program } from './program.ts';
import { TalkPage } from './talk-page.ts';
import { demoAgentId, greetWith } from './tenant.ts';
import {
  AUDIBLE,
  describeConversation,
  expectTakenOverAtConsole,
  GREETING,
  MANY_VISITORS,
  NAME,
  type Stage,
  settled,
} from './web-conversation.ts';
import { Site } from './widget-page.ts';

const NEEDS = ['livekit-server'];
/** From the table in docs/settings.md, micro-dollars per minute. */
const PRICE_WEB = 60_000;
const PATIENCE = { timeout: 60_000, interval: 200 };
/** Each caller has a session of their own. */
const AT_ONCE = { timeout: 180_000, concurrent: true };
/** A caller who has not hung up may come back for 15 s. */
const BEFORE_RETURN_MS = 12_000;
/** Keeps the page's connections, so that their received media can be read. */
const WATCH_CONNECTIONS = `
  window.connections = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...args) { super(...args); window.connections.push(this); }
  };`;
const RECEIVED_ENERGY = `(async () => {
  const reports = (await Promise.all(window.connections.map((one) => one.getStats()))).flatMap((stats) => [...stats.values()]);
  return Math.max(0, ...reports.filter(({ type, kind }) => type === 'inbound-rtp' && kind === 'audio').map(({ totalAudioEnergy }) => totalAudioEnergy ?? 0));
})()`;
const stage = {} as Stage;
let server: LivekitServer;
let product: Product;

beforeAll(async () => {
  if (!has(NEEDS)) return;
  server = await startLivekitServer();
  product = await startProduct({ environment: { ...MANY_VISITORS, ...server.environment } });
  stage.product = product;
  // Most callers only wait until it is over.
  await greetWith(product, GREETING);
});
afterAll(async () => {
  await product?.close();
  await server?.close();
});

describeConversation('a conversation in the browser, in a LiveKit room', stage, NEEDS, () => {
  describe('of a colleague', () => describeColleagueInRoom(stage, roomsOf));

  itNeeds(['chromium', ...NEEDS])(
    'ends at once when the page is closed, without waiting for the caller to come back',
    { timeout: 180_000 },
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      const sessionId = await visitor.sessionId();
      await visitor.page.goto('about:blank');
      const ended = async () => (await stage.product.ask('GET', `/v1/agent/sessions/${sessionId}`)).status;
      await vi.waitFor(async () => expect(await ended()).toBe('completed'), { timeout: BEFORE_RETURN_MS });
      await visitor.close();
    },
  );

  itNeeds(['chromium', ...NEEDS])(
    'runs through the widget, can be listened to from the console, and ends there',
    AT_ONCE,
    async () => {
      const { browser } = stage;
      const site = await Site.serve(product, [server.environment.LIVEKIT_URL]);
      const agentId = await demoAgentId(product);
      await product.ask('PATCH', `/v1/agent/agents/${agentId}`, {
        allowed_origins: [product.url, site.origin],
      });
      const guest = await site.visit(browser, `<voice-agent agent-id="${agentId}"></voice-agent>`);
      await guest.press('Talk to Parley demo');
      await guest.press('Type instead');
      await guest.line(GREETING);
      const sessionId = String((await guest.events()).find(({ name }) => name === 'connect')?.['sessionId']);
      const colleague = await ConsolePage.open(browser, product, { key: product.rootKey });
      await colleague.page.addInitScript(WATCH_CONNECTIONS);
      await colleague.go(`/calls/${sessionId}`);
      await colleague.press('Listen');
      await colleague.see('You hear both sides; nobody hears you.');
      await guest.type('Who are you?');
      await guest.line(NAME);
      await vi.waitFor(
        async () => expect(await colleague.page.evaluate<number>(RECEIVED_ENERGY)).toBeGreaterThan(AUDIBLE),
        PATIENCE,
      );
      await colleague.see(NAME);
      await colleague.press('Stop listening');
      await expectTakenOverAtConsole(colleague, product, { sessionId, write: (text) => guest.type(text) });
      await colleague.press('End call');
      await colleague.press('End call', colleague.page.getByRole('dialog'));
      await guest.status('The conversation has ended');
      expect((await guest.events()).map(({ name }) => name)).toEqual(['call', 'connect', 'disconnect']);
      expect((await settled(product, sessionId)).status).toBe('completed');
      await colleague.page.getByRole('region', { name: 'Replay with other settings' }).waitFor();
      await Promise.all([guest.close(), colleague.close()]);
      await site.close();
    },
  );

  itNeeds(['chromium', ...NEEDS])(
    'continues after a restart of the LiveKit server',
    { timeout: 180_000 },
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await server.close();
      await visitor.status('Connection lost, trying again…');
      server = await startLivekitServer({ port: server.port });
      await visitor.status('Listening');
      await visitor.type('Who are you?');
      await visitor.line('Agent', NAME);
      await visitor.press('Hang up');
      expect(await settled(stage.product, await visitor.sessionId())).toMatchObject({
        status: 'completed',
        end_reason: 'user_hangup',
      });
      await visitor.close();
    },
  );
});

/** The session's rooms on the server. */
async function roomsOf(sessionId: string): Promise<readonly string[]> {
  const rooms = openRooms(readSettings(server.environment), createLogger({ level: 'silent', name: 'test' }));
  return ((await rooms?.list()) ?? []).filter((name) => name.startsWith(sessionId));
}

describeNeeds(NEEDS)('a custom caller in a LiveKit room', () => {
  async function create() {
    return product.ask('POST', '/v1/agent/sessions', { agent_id: await demoAgentId(product) });
  }

  /** The balance in micro-dollars. */
  async function balance(): Promise<number> {
    return parseMoney((await product.ask('GET', '/wallet/self/api-credit')).credit) ?? 0;
  }

  async function call() {
    const grant = await create();
    const caller = await LivekitCaller.join(grant.livekit_url, grant.token);
    await vi.waitFor(() => expect(caller.agentSaid.join(' ')).toContain(GREETING), PATIENCE);
    return { caller, grant, sessionId: grant.session_id as string };
  }

  /** Asks repeatedly, as people do; a busy machine may not understand at once. */
  async function ask(caller: LivekitCaller, question: string, answer: string): Promise<void> {
    const isAnswered = () => caller.agentSaid.join(' ').includes(answer);
    for (let attempt = 1; attempt <= 3 && !isAnswered(); attempt++) {
      await caller.speak(record([0.5, question, 2], 48_000));
      await vi.waitUntil(isAnswered, { timeout: 25_000, interval: 200 }).catch(() => undefined);
    }
    expect(caller.agentSaid.join(' ')).toContain(answer);
  }

  itNeeds(NEEDS)(
    'gets the room’s server and a token in the session response, and appears among its participants',
    AT_ONCE,
    async () => {
      const grant = await create();
      expect(grant).toMatchObject({
        transport: 'livekit',
        livekit_url: server.environment.LIVEKIT_URL,
        max_duration_seconds: expect.any(Number),
      });
      expect(Object.keys(grant).sort()).toEqual([
        'expires_at',
        'livekit_url',
        'max_duration_seconds',
        'session_id',
        'token',
        'transport',
      ]);
      const session = await product.ask('GET', `/v1/agent/sessions/${grant.session_id}`);
      expect(session).toMatchObject({
        status: 'pending',
        participant_identity: `user-${grant.session_id}`,
        agent_participant_identity: `agent-${grant.session_id}`,
      });
      await product.ask('POST', `/v1/agent/sessions/${grant.session_id}/end`);
      expect(await settled(product, grant.session_id)).toMatchObject({
        status: 'failed',
        end_reason: 'cancelled',
      });
    },
  );

  itNeeds([...NEEDS, 'pocketsphinx_continuous'])(
    'is greeted, understood and answered, and hangs up',
    AT_ONCE,
    async () => {
      const { caller, sessionId } = await call();
      await vi.waitFor(() => expect(caller.loudBlocks).toBeGreaterThan(50), PATIENCE);
      await vi.waitFor(() => expect(caller.states.at(-1)).toBe('listening'), PATIENCE);
      await ask(caller, QUESTION, 'We are open every day from noon');
      const heard = caller.texts.filter(({ from, isFinal }) => isFinal && from === `user-${sessionId}`);
      expect(heard.map(({ text }) => text)).toContainEqual(expect.stringMatching(ASKED));
      await caller.hangUp();
      expect(await settled(product, sessionId)).toMatchObject({
        status: 'completed',
        end_reason: 'user_hangup',
      });
    },
  );

  itNeeds(NEEDS)(
    'keeps the conversation when its client leaves and joins again with the same token, and ends it by leaving',
    AT_ONCE,
    async () => {
      const { caller, sessionId, grant } = await call();
      await caller.leave();
      const again = await LivekitCaller.join(grant.livekit_url, grant.token);
      await again.send({ type: 'user.message', text: 'Who are you?', audio: true });
      await vi.waitFor(() => expect(again.agentSaid.join(' ')).toContain(NAME), PATIENCE);
      const leftAt = Date.now();
      await again.leave();
      const session = await settled(product, sessionId);
      expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
      expect(Date.parse(session.ended_at) - leftAt).toBeLessThan(10_000);
    },
  );

  itNeeds(NEEDS)('is notified when the agent hangs up, and removed from the room', AT_ONCE, async () => {
    const { caller, sessionId } = await call();
    await caller.send({ type: 'user.message', text: 'Goodbye' });
    await vi.waitFor(
      () => expect(caller.events.at(-1)).toEqual({ type: 'session.ended', reason: 'agent_hangup' }),
      PATIENCE,
    );
    await vi.waitFor(() => expect(caller.room.isConnected).toBe(false), PATIENCE);
    expect(await settled(product, sessionId)).toMatchObject({
      status: 'completed',
      end_reason: 'agent_hangup',
    });
    await caller.leave();
  });

  itNeeds(NEEDS)('can be heard by a hidden listener with a token of the team', AT_ONCE, async () => {
    const { caller, sessionId } = await call();
    const grant = await product.ask('POST', `/v1/agent/sessions/${sessionId}/monitor`);
    const monitor = await LivekitCaller.join(grant.livekit_url, grant.token, { microphone: false });
    await caller.send({ type: 'user.message', text: 'Who are you?', audio: true });
    await vi.waitFor(() => expect(monitor.agentSaid.join(' ')).toContain(NAME), PATIENCE);
    expect(caller.room.remoteParticipants.size).toBe(1);
    await monitor.leave();
    expect((await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).status).toBe('active');
    await caller.hangUp();
    await settled(product, sessionId);
    expect((await product.api('POST', `/v1/agent/sessions/${sessionId}/monitor`)).status).toBe(409);
  });

  itNeeds(NEEDS)(
    'keeps the conversation when the media process dies, and when the worker does: one session, one price, and no room left',
    { timeout: 180_000 },
    async () => {
      const before = await balance();
      const { caller, sessionId } = await call();
      for (const [times, part] of [
        [2, 'media-thread'],
        [3, 'worker'],
      ] as const) {
        expect(product.kill(part)).toBeGreaterThan(0);
        // The caller sees the agent leave and return.
        await vi.waitFor(() => expect(caller.agentsHeard).toBe(times), PATIENCE);
        const said = caller.agentSaid.length;
        const isAnswered = () => caller.agentSaid.slice(said).join(' ').includes(NAME);
        for (let asked = 0; asked < 3 && !isAnswered(); asked++) {
          await caller.send({ type: 'user.message', text: 'Who are you?', audio: true });
          await vi.waitUntil(isAnswered, { timeout: 20_000, interval: 200 }).catch(() => undefined);
        }
        expect(isAnswered()).toBe(true);
      }
      await caller.hangUp();
      const session = await settled(product, sessionId);
      expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
      await vi.waitFor(async () => expect(await roomsOf(sessionId)).toEqual([]), PATIENCE);
      await vi.waitFor(
        async () => expect(before - (await balance())).toBe(perMinute(PRICE_WEB, session.duration_seconds)),
        PATIENCE,
      );
    },
  );

  itNeeds(NEEDS)(
    'gets a 502 without a LiveKit server, and the charge is returned',
    { timeout: 60_000 },
    async () => {
      const wallet = async () => (await product.ask('GET', '/wallet/self/api-credit')).credit;
      const before = await wallet();
      await server.close();
      const agent_id = await demoAgentId(product);
      const ask = () => product.api('POST', '/v1/agent/sessions', { agent_id });
      let refused = await ask();
      await product.until('a worker is free', async () => {
        // A worker on a busy machine takes nothing for a while.
        if (refused.status === 503) refused = await ask();
        return refused.status !== 503;
      });
      expect([refused.status, refused.body.message]).toEqual([502, 'Agent gateway is unreachable']);
      expect(await wallet()).toBe(before);
      server = await startLivekitServer({ port: server.port });
    },
  );

  itNeeds(NEEDS)(
    'is not told when its worker is stopped: another one continues the conversation',
    { timeout: 120_000 },
    async () => {
      const { caller, sessionId } = await call();
      const { worker_token: WORKER_TOKEN } = JSON.parse(
        readFileSync(join(product.dataDir, 'credentials.json'), 'utf8'),
      );
      const DATA_DIR = mkdtempSync(join(tmpdir(), 'parley-other-worker-'));
      const place = { DATA_DIR, WORKER_TOKEN, CONTROL_PLANE_URL: product.url, WORKER_KINDS: 'web' };
      const other = new Program('worker', { ...place, LOCAL_LLM_URL: 'off' });
      try {
        await other.printed(/^Works for /m);
        await vi.waitFor(() => expect(caller.states.at(-1)).toBe('listening'), PATIENCE);
        const said = caller.agentSaid.length;
        for (const { pid } of product.parts('worker')) process.kill(pid, 'SIGTERM');
        await vi.waitFor(() => expect(caller.agentsHeard).toBe(2), PATIENCE);
        await caller.send({ type: 'user.message', text: 'Who are you?', audio: true });
        await vi.waitFor(() => expect(caller.agentSaid.slice(said).join(' ')).toContain(NAME), PATIENCE);
        expect(caller.agentSaid[said]).toContain(NAME);
        await caller.hangUp();
        expect(await settled(product, sessionId)).toMatchObject({ end_reason: 'user_hangup' });
      } finally {
        await other.close();
        rmSync(DATA_DIR, { recursive: true, force: true });
      }
    },
  );
});
