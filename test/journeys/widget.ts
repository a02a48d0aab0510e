/**
 * Journey: a restaurant puts the widget on its own site, and guests call from it: by voice, by keyboard
 * alone, in their language, and when something goes wrong. Then it writes pages of its own.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { seriousFindings } from './accessibility.ts';
import { describeBrowserClient, type SiteStage } from './browser-client.ts';
import { ASKED, QUESTION, recordWav } from './microphone.ts';
import { launchBrowser } from './talk-page.ts';
import { demoAgentId, greetWith } from './tenant.ts';
import { GREETING, NAME, settled } from './web-conversation.ts';
import { Site } from './widget-page.ts';

const NEEDS = ['chromium'];
const PATIENCE = { timeout: 240_000 };
/** Each guest has a page and a call of their own. */
const AT_ONCE = { ...PATIENCE, concurrent: true };
/**
 * Listens to the greeting and asks a question; repeats it, as people do, where a busy machine connects late
 * or understands too slowly.
 */
const MICROPHONE = [5, QUESTION, 20, QUESTION, 20, QUESTION, 30] as const;
/** In a spoken call the question interrupts what the agent says late, which then ends early. */
const GREETED = /^Agent: Hello/;
const NAMED = /^Agent: I am/;
/** Shadow root of the first widget on the page. */
const SHADOW = `document.querySelector('voice-agent').shadowRoot`;

/** Describes it on a shared product. */
export function describeWidget(on: Pick<SiteStage, 'product'>): void {
  const stage = {} as SiteStage;

  describeNeeds(NEEDS)('a customer’s site', () => {
    const allow = (origins: readonly string[]) =>
      stage.product.ask('PATCH', `/v1/agent/agents/${stage.agentId}`, { allowed_origins: origins });

    beforeAll(async () => {
      stage.product = on.product;
      stage.site = await Site.serve(stage.product);
      stage.agentId = await demoAgentId(stage.product);
      await greetWith(stage.product, GREETING);
      await allow([stage.site.origin]);
    });
    afterAll(() => stage.site?.close());

    describe('the widget', () => {
      let browser: Browser;
      let folder: string;

      const element = (attributes = '') =>
        `<voice-agent agent-id="${stage.agentId}" ${attributes}></voice-agent>`;

      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), 'widget-journey-'));
        const microphone = join(folder, 'microphone.wav');
        writeFileSync(microphone, recordWav(MICROPHONE, 48_000));
        browser = await launchBrowser(microphone);
      });
      afterAll(async () => {
        await browser?.close();
        rmSync(folder, { recursive: true, force: true });
      });

      itNeeds([...NEEDS, 'pocketsphinx_continuous'])(
        'takes a spoken call on a page that has only a script and an element for it',
        AT_ONCE,
        async () => {
          const guest = await stage.site.visit(browser, element());
          await guest.press('Talk to Parley demo');
          await guest.press('Start a call');
          await guest.line(GREETED);
          await guest.line('We are open every day from noon');
          await guest.press('Mute');
          expect(await guest.button('Mute').getAttribute('aria-pressed')).toBe('true');
          await guest.press('End call');
          await guest.status('The conversation has ended');
          const events = await guest.events();
          expect(events.map(({ name }) => name)).toEqual(['call', 'connect', 'disconnect']);
          expect(events[2]).toMatchObject({ reason: 'user_hangup' });
          const session = await settled(stage.product, String(events[1]?.['sessionId']));
          expect(session.items).toContainEqual(
            expect.objectContaining({ role: 'user', content: expect.stringMatching(ASKED) }),
          );
          expect(session).toMatchObject({
            status: 'completed',
            end_reason: 'user_hangup',
            source: 'public',
          });
          await guest.close();
        },
      );

      itNeeds(NEEDS)('does not delay the page’s load, and requests its agent once', AT_ONCE, async () => {
        // Registered before the widget’s own listeners; the load event itself waits for the script.
        const initScript = `addEventListener('load', () => { window.atLoad = { isScriptThere: performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/widget.js')),
        isDefined: customElements.get('voice-agent') !== undefined }; });`;
        const page = await stage.site.open(
          browser,
          `${element()}<script src="${stage.product.url}/widget.js" async></script>`,
          { initScript },
        );
        await page.getByRole('button', { name: 'Talk to Parley demo' }).waitFor(PATIENCE);
        expect(await page.evaluate('window.atLoad')).toEqual({ isScriptThere: true, isDefined: false });
        expect(
          await page.evaluate(
            `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/widget')).length`,
          ),
        ).toBe(1);
        await page.context().close();
      });

      itNeeds(NEEDS)('can be used by keyboard alone, with the terms accepted once', AT_ONCE, async () => {
        const guest = await stage.site.visit(
          browser,
          element('consent="true" terms-url="/terms" consent-text="This call may be recorded."'),
        );
        const keys = async (...names: string[]) => {
          for (const name of names) await guest.page.keyboard.press(name);
        };
        await guest.button('Talk to Parley demo').waitFor();
        await keys('Tab', 'Enter');
        await keys('Tab', 'Enter');
        await guest.page.getByText('This call may be recorded.').waitFor();
        expect(await guest.page.getByRole('link', { name: 'Terms' }).getAttribute('href')).toBe(
          `${stage.site.origin}/terms`,
        );
        await keys('Enter');
        await guest.line(GREETED);
        await guest.page.getByRole('textbox').focus();
        await guest.page.keyboard.type('Who are you?');
        await keys('Enter');
        await guest.line(`You: Who are you?`);
        await guest.line(NAMED);
        await keys('Escape', 'Enter', 'Shift+Tab', 'Enter');
        await guest.status('The conversation has ended');
        await keys('Tab', 'Enter');
        await guest.line(GREETED);
        await guest.close();
      });

      itNeeds(NEEDS)(
        'is accessible: axe reports no serious finding, light or dark, and no policy of the page is violated',
        AT_ONCE,
        async () => {
          for (const colorScheme of ['light', 'dark'] as const) {
            const guest = await stage.site.visit(
              browser,
              element(
                'consent="true" greeting="Ask us anything" proactive-message="Hungry?" proactive-delay="0"',
              ),
              {
                colorScheme,
              },
            );
            await guest.page.getByRole('button', { name: 'Hungry?' }).waitFor();
            expect(await seriousFindings(guest.page)).toEqual([]);
            await guest.press('Hungry?');
            await guest.page.getByText('Ask us anything').waitFor();
            expect(await seriousFindings(guest.page)).toEqual([]);
            await guest.press('Type instead');
            expect(await seriousFindings(guest.page)).toEqual([]);
            await guest.press('Accept');
            await guest.line(GREETING);
            await guest.type('Who are you?');
            await guest.line('Who are you?');
            expect(await seriousFindings(guest.page)).toEqual([]);
            expect((await guest.events()).filter(({ name }) => name === 'violation')).toEqual([]);
            await guest.close();
          }
        },
      );

      itNeeds(NEEDS)(
        'speaks the visitor’s language from right to left, uses the page’s own texts, and fits a phone',
        AT_ONCE,
        async () => {
          const texts = JSON.stringify({ start: 'اتصل بمطعم لويجي' });
          const guest = await stage.site.visit(
            browser,
            element(`language="ar" text-contents='${texts}' agent-name="لويجي" position="top-left"`),
            {
              viewport: { width: 360, height: 640 },
            },
          );
          await guest.press('تحدّث مع لويجي');
          const start = guest.button('اتصل بمطعم لويجي');
          await start.waitFor();
          const panel = (await guest.page.getByRole('dialog', { name: 'لويجي' }).boundingBox())!;
          const direction = await guest.page.evaluate(
            `getComputedStyle(${SHADOW}.querySelector('.start')).direction`,
          );
          expect(direction).toBe('rtl');
          expect([panel.x >= 0, panel.x + panel.width <= 360, panel.y < 100]).toEqual([true, true, true]);
          // The agent does not let pages choose its language; the message names the switch that allows it.
          await start.click();
          expect(await guest.problem()).toBe('تعذّر بدء المكالمة. حاول مجدداً.');
          expect((await guest.events()).at(-1)).toMatchObject({
            name: 'error',
            code: 'session_request_failed',
            statusCode: 400,
            message: expect.stringContaining('language'),
          });
          await guest.close();
        },
      );

      itNeeds(NEEDS)('shows a visitor with a blocked or missing microphone what to do', AT_ONCE, async () => {
        for (const [microphone, advice] of [
          ['blocked', 'The microphone is blocked. Allow it for this page'],
          [null, 'No microphone was found. Connect one and start again'],
        ] as const) {
          const mute = await launchBrowser(microphone);
          const guest = await stage.site.visit(mute, element());
          await guest.press('Talk to Parley demo');
          await guest.press('Start a call');
          expect(await guest.problem()).toContain(advice);
          expect((await guest.events()).at(-1)).toMatchObject({ code: 'mic_permission_denied' });
          await guest.press('Type instead');
          await guest.line(GREETING);
          await mute.close();
        }
      });

      itNeeds(NEEDS)(
        'allows one conversation at a time on a page, and hangs up when its element is removed',
        AT_ONCE,
        async () => {
          const guest = await stage.site.visit(
            browser,
            `${element('agent-name="One"')}${element('agent-name="Two" position="bottom-left"')}`,
          );
          await guest.press('Talk to One');
          // Clicked twice, as people do.
          await guest.page.evaluate(
            `{ const start = ${SHADOW}.querySelector('.type'); start.click(); start.click(); }`,
          );
          await guest.line(GREETING);
          await guest.press('Talk to Two');
          await guest.page
            .getByRole('dialog', { name: 'Two' })
            .getByRole('button', { name: 'Type instead' })
            .click();
          expect(await guest.page.getByRole('dialog', { name: 'Two' }).getByRole('alert').textContent()).toBe(
            'Another conversation is in progress on this page. End it first.',
          );
          // Moving the element keeps the call; removing it ends the call.
          await guest.page.evaluate(
            `document.querySelector('main').append(document.querySelector('voice-agent'))`,
          );
          await guest.page.getByRole('dialog', { name: 'One' }).getByRole('textbox').fill('Who are you?');
          await guest.page.getByRole('dialog', { name: 'One' }).getByRole('button', { name: 'Send' }).click();
          await guest.line(NAME);
          await guest.page.evaluate(`document.querySelector('main voice-agent').remove()`);
          const connects = (await guest.events()).filter(({ name }) => name === 'connect');
          expect(connects).toHaveLength(1);
          expect(await settled(stage.product, String(connects[0]?.['sessionId']))).toMatchObject({
            end_reason: 'user_hangup',
          });
          await guest.close();
        },
      );

      itNeeds(NEEDS)(
        'continues over a new connection when the network fails during a call',
        AT_ONCE,
        async () => {
          const guest = await stage.site.visit(browser, element());
          await guest.press('Talk to Parley demo');
          await guest.press('Type instead');
          await guest.line(GREETING);
          await guest.loseNetwork();
          await guest.status('Connection lost, trying again…');
          // Messages written meanwhile wait for the new connection.
          await guest.type('Who are you?');
          await guest.line('You: Who are you?');
          await guest.findNetwork();
          await guest.status(/Listening|Speaking|Thinking/);
          expect(await guest.page.evaluate('window.connections.length')).toBeGreaterThan(1);
          await guest.line(NAME);
          await guest.press('End call');
          const connect = (await guest.events()).find(({ name }) => name === 'connect');
          expect(await settled(stage.product, String(connect?.['sessionId']))).toMatchObject({
            status: 'completed',
            end_reason: 'user_hangup',
          });
          await guest.close();
        },
      );

      itNeeds(NEEDS)(
        'explains why a page cannot call: a foreign origin, an owner out of credit, an expired token, a missing agent',
        PATIENCE,
        async () => {
          await allow(['https://luigis.example.com']);
          const refused = await stage.site.visit(browser, element('agent-name="Luigi"'));
          await refused.press('Talk to Luigi');
          await refused.press('Type instead');
          expect(await refused.problem()).toBe('This page may not use this agent.');
          expect((await refused.events()).at(-1)).toMatchObject({
            code: 'origin_forbidden',
            statusCode: 403,
            message: 'Origin not allowed',
          });
          await allow([stage.site.origin]);
          await stage.product.ask('PUT', `/v1/agent/agents/${stage.agentId}/limits`, {
            daily_cap: '0.00',
            concurrent_calls: null,
          });
          await refused.press('Type instead');
          await expect.poll(() => refused.problem()).toBe('Agent is unavailable. Please try again later.');
          await stage.product.ask('PUT', `/v1/agent/agents/${stage.agentId}/limits`, {
            daily_cap: null,
            concurrent_calls: null,
          });
          const grant = await stage.product.ask('POST', '/v1/agent/sessions', { agent_id: stage.agentId });
          await stage.product.ask('POST', `/v1/agent/sessions/${grant.session_id}/end`);
          const token = JSON.stringify(grant);
          await refused.page.evaluate(
            `document.querySelector('voice-agent').sessionTokenProvider = async () => (${token})`,
          );
          await refused.press('Type instead');
          await expect
            .poll(() => refused.problem())
            .toBe('The call did not start in time. Please start again.');
          expect((await refused.events()).at(-1)).toMatchObject({ code: 'session_expired' });
          await refused.close();
          const empty = await stage.site.visit(browser, '<voice-agent></voice-agent>');
          await empty.press('Talk to Agent');
          await empty.press('Type instead');
          expect(await empty.problem()).toBe('The call could not be started. Please try again.');
          expect((await empty.events()).at(-1)).toMatchObject({
            message: expect.stringContaining('agent-id'),
          });
          await empty.close();
        },
      );
    });

    describeBrowserClient(stage);
  });
}
