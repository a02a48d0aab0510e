/**
 * Journey: a custom page that uses only the browser client (`/sdk.js`), and one that uses its React entry, on
 * a site that may use the demo agent.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, expect } from 'vitest';
import { toWav } from '#media/speech/audio/wav.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import type { Product } from './product.ts';
import { launchBrowser } from './talk-page.ts';
import { GREETING, NAME, settled } from './web-conversation.ts';
import type { Site } from './widget-page.ts';

const NEEDS = ['chromium'];
const PATIENCE = { timeout: 180_000 };
const ANSWER = { timeout: 60_000 };
const REACT_ENTRY = resolve(import.meta.dirname, '../../web/client/react/index.ts');

/** A hum: loud enough to be measured at the microphone, but not recognised as speech. */
const HUM = Int16Array.from({ length: 48_000 * 60 }, (_, at) =>
  Math.round(700 * Math.sin((at * 2 * Math.PI * 120) / 48_000)),
);

/** A React page as a customer would write it. */
const REACT_PAGE = `
  import { createElement as h, useState } from 'react';
  import { createRoot } from 'react-dom/client';
  import { AgentSessionProvider, AgentVisualizer, useAgentMessages, useAgentSessionContext, useAudioLevels } from '${REACT_ENTRY}';

  function Conversation({ options }) {
    const { status, mode, startSession, endSession, sendUserMessage } = useAgentSessionContext();
    const messages = useAgentMessages();
    const { output } = useAudioLevels();
    const [loudest, setLoudest] = useState(0);
    if (output > loudest) setLoudest(output);
    return h('main', {},
      h('p', { role: 'status' }, status + ' ' + mode),
      h('p', { id: 'loudest' }, String(loudest)),
      h('button', { onClick: () => startSession(options) }, 'Start'),
      h('button', { onClick: () => sendUserMessage('Who are you?', { audio: true }) }, 'Ask'),
      h('button', { onClick: endSession }, 'End'),
      h(AgentVisualizer, { bars: 8, className: 'bars' }),
      h('ul', {}, messages.map(({ key, role, text }) => h('li', { key }, role + ': ' + text))));
  }
  export function show(options) {
    createRoot(document.body).render(h(AgentSessionProvider, {}, h(Conversation, { options })));
  }`;

/** A product, and a customer's site from which its demo agent may be called. */
export interface SiteStage {
  product: Product;
  site: Site;
  agentId: string;
}

/** Describes them on a shared product. */
export function describeBrowserClient(stage: SiteStage): void {
  describeNeeds(NEEDS)('the browser client', () => {
    let browser: Browser;
    let page: Page;
    let folder: string;

    /** Runs this in the page, with the client and the common start options in scope. */
    const run = <Result>(body: string) =>
      page.evaluate<Result>(`(async () => {
        const { AgentSession } = await import('${stage.product.url}/sdk.js');
        const publicly = { agentId: '${stage.agentId}', serverUrl: '${stage.product.url}' };
        const codeOf = (work) => work.then(() => null, ({ code, statusCode }) => ({ code, statusCode }));
        const until = async (condition) => { while (!condition()) await new Promise((done) => setTimeout(done, 20)); };
        ${body}
      })()`);

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'client-journey-'));
      const microphone = join(folder, 'microphone.wav');
      writeFileSync(microphone, toWav(HUM, 48_000));
      browser = await launchBrowser(microphone);
      page = await stage.site.open(browser, '');
    });
    afterAll(async () => {
      await browser?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    itNeeds(NEEDS)(
      'reports callbacks, levels, devices, muting, transcript and end of a spoken conversation',
      PATIENCE,
      async () => {
        const seen = await run<Record<string, unknown>>(`
        const events = [];
        const callbacks = {
          onConnect: ({ sessionId }) => events.push(['connect', typeof sessionId]),
          onStatusChange: ({ status }) => events.push(['status', status]),
          onDisconnect: ({ reason }) => events.push(['disconnect', reason]),
        };
        const session = await AgentSession.start({ ...publicly, callbacks, audio: { inputDeviceId: 'default' }, endUserId: 'guest 7', timezone: 'Europe/Rome' });
        // Checked separately: the browser's noise suppression may have removed the hum before the agent speaks.
        const heard = { input: false, output: false };
        await until(() => {
          heard.input ||= session.getInputVolume() > 0;
          heard.output ||= session.isSpeaking && session.getOutputVolume() > 0;
          return heard.input && heard.output;
        });
        const bins = [session.getInputFrequencyData().length, session.getOutputFrequencyData().length];
        await until(() => session.getOutputFrequencyData().some((bin) => bin > 0));
        session.setOutputVolume(0.5);
        await session.startAudio();
        const devices = await navigator.mediaDevices.enumerateDevices();
        const other = devices.filter(({ kind, deviceId }) => kind === 'audioinput' && deviceId !== 'default').at(-1);
        session.setMicMuted(true);
        await session.setInputDevice(other.deviceId);
        const wrong = [await codeOf(session.setInputDevice('gone')), await codeOf(session.setOutputDevice('gone'))];
        const micMuted = session.micMuted;
        let delta = '';
        session.on('agentResponseDelta', (event) => { delta += event.delta; });
        const said = [];
        session.on('message', ({ role, text }) => said.push(role + ': ' + text));
        await until(() => session.getTranscript().some(({ text }) => text.includes('${GREETING}')));
        session.interrupt();
        await until(() => !session.isSpeaking);
        session.sendUserActivity();
        session.sendUserMessage('Who are you?', { audio: true });
        await until(() => delta.includes('${NAME}'));
        const transcript = session.getTranscript().map(({ role }) => role);
        session.end();
        return { sessionId: session.sessionId, status: session.status, endReason: session.endReason, room: session.getRoom(), events, said, bins, wrong, micMuted, transcript };`);
        expect(seen).toMatchObject({
          status: 'ended',
          endReason: 'user_hangup',
          room: null,
          bins: [256, 256],
          micMuted: true,
        });
        expect(seen['wrong']).toEqual([
          expect.objectContaining({ code: 'device_change_failed' }),
          expect.objectContaining({ code: 'device_change_failed' }),
        ]);
        expect(seen['events']).toEqual([
          ['status', 'connected'],
          ['connect', 'string'],
          ['status', 'ended'],
          ['disconnect', 'user_hangup'],
        ]);
        expect(seen['said']).toEqual(
          expect.arrayContaining([expect.stringContaining('agent: '), 'user: Who are you?']),
        );
        // On a busy machine a filler phrase may come before the answer.
        expect((seen['transcript'] as string[]).join(' ')).toMatch(/^agent user agent( agent)?$/);
        const session = await settled(stage.product, String(seen['sessionId']));
        expect(session).toMatchObject({ status: 'completed', timezone: 'Europe/Rome' });
      },
    );

    itNeeds(NEEDS)('has an error code for each refusal', PATIENCE, async () => {
      const codes = await run<unknown[]>(`
        const typed = { ...publicly, microphone: false };
        return [
          await codeOf(AgentSession.start({ microphone: false, serverUrl: publicly.serverUrl })),
          await codeOf(AgentSession.start({ ...typed, agentId: 'nobody' })),
          await codeOf(AgentSession.start({ ...typed, overrides: { systemPrompt: 'Be rude.' } })),
          await codeOf(AgentSession.start({ ...typed, serverUrl: publicly.serverUrl.replace(/:\\d+$/, ':9') })),
          await codeOf(AgentSession.start({ microphone: false, sessionToken: { session_id: 'x', transport: 'carrier-pigeon', token: 'x', expires_at: '' } })),
          await codeOf(AgentSession.start({ ...publicly, audio: { inputDeviceId: 'gone' } })),
        ];`);
      expect(codes).toEqual([
        { code: 'session_request_failed', statusCode: null },
        { code: 'session_request_failed', statusCode: 404 },
        { code: 'session_request_failed', statusCode: 400 },
        { code: 'connection_failed', statusCode: null },
        { code: 'unsupported_transport', statusCode: null },
        { code: 'mic_permission_denied', statusCode: null },
      ]);
      await stage.product.ask('PATCH', `/v1/agent/agents/${stage.agentId}`, { public_enabled: false });
      expect(await run('return codeOf(AgentSession.start({ ...publicly, microphone: false }))')).toEqual({
        code: 'agent_not_public',
        statusCode: 403,
      });
      await stage.product.ask('PATCH', `/v1/agent/agents/${stage.agentId}`, { public_enabled: true });
    });

    itNeeds(NEEDS)('has a React entry with provider, hooks and visualizer', PATIENCE, async () => {
      stage.site.modules.set('/app.js', await bundle(REACT_PAGE));
      const app = await stage.site.open(browser, '');
      const start = (microphone: boolean) =>
        JSON.stringify({ agentId: stage.agentId, serverUrl: stage.product.url, microphone });
      await app.evaluate(`import('/app.js').then(({ show }) => show(${start(false)}))`);
      const status = app.getByRole('status');
      await status.filter({ hasText: 'idle' }).waitFor(ANSWER);
      await app.getByRole('button', { name: 'Start' }).dblclick();
      await app
        .getByRole('listitem')
        .filter({ hasText: `agent: ${GREETING}` })
        .waitFor(ANSWER);
      await expect
        .poll(async () => Number(await app.locator('#loudest').textContent()), ANSWER)
        .toBeGreaterThan(0);
      await app.getByRole('button', { name: 'Ask' }).click();
      await app.getByRole('listitem').filter({ hasText: 'user: Who are you?' }).waitFor(ANSWER);
      await app.getByRole('listitem').filter({ hasText: NAME }).waitFor(ANSWER);
      expect(await app.locator('canvas.bars').getAttribute('width')).toBe('240');
      // Two clicks start it only once.
      expect(await app.evaluate('window.connections.length')).toBe(1);
      await app.getByRole('button', { name: 'End' }).click();
      await status.filter({ hasText: 'ended' }).waitFor(ANSWER);
      await app.getByRole('button', { name: 'Start' }).click();
      await status.filter({ hasText: 'connected' }).waitFor(ANSWER);
      expect(await app.evaluate('window.connections.length')).toBe(2);
      await app.context().close();
    });
  });
}

/** Bundles the source into one module for a browser. */
async function bundle(source: string): Promise<string> {
  const id = 'virtual:page';
  const [built] = await build({
    configFile: false,
    root: resolve(import.meta.dirname, '../..'),
    logLevel: 'error',
    plugins: [
      {
        name: 'page',
        resolveId: (name) => (name === id ? id : null),
        load: (name) => (name === id ? source : null),
      },
    ],
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: id, preserveEntrySignatures: 'strict', output: { codeSplitting: false } },
    },
  }).then((output) => [output].flat() as unknown as { output: { code: string }[] }[]);
  return built!.output[0]!.code;
}
