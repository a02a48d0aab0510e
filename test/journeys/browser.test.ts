/**
 * Journey: visitors open the page in a browser and talk to the demo agent over direct WebRTC, by microphone
 * and by text, until they hang up, leave, or the server stops. Then guests of another site call from there.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { has, itNeeds } from '#test/needs.ts';
import { seriousFindings } from './accessibility.ts';
import { ConsolePage } from './console-page.ts';
import { startProduct } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { demoAgentId } from './tenant.ts';
import {
  AUDIBLE,
  describeConversation,
  expectTakenOverAtConsole,
  GREETING,
  MANY_VISITORS,
  OPENING_HOURS,
  type Stage,
  settled,
} from './web-conversation.ts';
import { describeWidget } from './widget.ts';

/**
 * A custom client in the page: connects without a microphone, asks one question, and returns the agent's
 * answer.
 */
const CONNECT_AND_ASK = `async (grant) => {
  const connection = new RTCPeerConnection();
  const channel = connection.createDataChannel('events');
  connection.addTransceiver('audio', { direction: 'recvonly' });
  const answer = new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === 'transcript' && event.role === 'agent' && event.text.includes('noon')) resolve(event.text);
    };
  });
  await connection.setLocalDescription(await connection.createOffer());
  const response = await fetch(grant.webrtc_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + grant.token },
    body: JSON.stringify({ type: 'offer', sdp: connection.localDescription.sdp }),
  });
  if (!response.ok) throw new Error(response.status + ' ' + (await response.text()));
  await connection.setRemoteDescription(await response.json());
  await new Promise((resolve) => { channel.onopen = resolve; });
  channel.send(JSON.stringify({ type: 'user.message', text: 'What are your opening hours?', audio: true }));
  return answer;
}`;
/** Longer than the server waits for recovery after ICE has detected the loss. */
const NETWORK_GONE_MS = 14_000;
/** Each visitor has a page and a session of their own. */
const AT_ONCE = { timeout: 180_000, concurrent: true };

const stage = {} as Stage;
beforeAll(async () => {
  if (!has(['chromium'])) return;
  stage.product = await startProduct({ environment: MANY_VISITORS });
});
afterAll(() => stage.product?.close());

describeConversation('a conversation in the browser', stage, [], () => {
  itNeeds(['chromium'])(
    'works in writing until the agent hangs up, and a second one can begin',
    AT_ONCE,
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await visitor.type('What are your opening hours?');
      await visitor.line('You', 'What are your opening hours?');
      await visitor.line('Agent', OPENING_HOURS);
      expect(await visitor.receivedEnergy()).toBeGreaterThan(AUDIBLE);
      await visitor.page
        .getByRole('region', { name: 'Next steps' })
        .getByText('Give it a number')
        .waitFor({ timeout: 10_000 });
      await visitor.type('Goodbye');
      await visitor.line('Agent', 'Thank you for calling. Goodbye!');
      await visitor.status('The conversation has ended (agent hangup)');
      expect(await settled(stage.product, await visitor.sessionId())).toMatchObject({
        status: 'completed',
        end_reason: 'agent_hangup',
      });
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await visitor.close();
    },
  );

  itNeeds(['chromium'])(
    'begins with a suggestion that is clicked, and leaves the keyboard in the field',
    AT_ONCE,
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      const suggestion = visitor.page.getByRole('listitem').getByRole('button').first();
      const phrase = (await suggestion.textContent())?.slice(1, -1) ?? '';
      await suggestion.click();
      await visitor.line('You', phrase);
      await visitor.page.keyboard.type('Goodbye');
      await visitor.page.keyboard.press('Enter');
      await visitor.line('You', 'Goodbye');
      await visitor.close();
    },
  );

  itNeeds(['chromium'])(
    'can be taken over by a colleague at the console, and handed back',
    AT_ONCE,
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      const colleague = await ConsolePage.open(stage.browser, stage.product, { key: stage.product.rootKey });
      const sessionId = await visitor.sessionId();
      await expectTakenOverAtConsole(colleague, stage.product, {
        sessionId,
        write: (text) => visitor.type(text),
      });
      await visitor.press('Hang up');
      await colleague.see('Completed');
      await Promise.all([visitor.close(), colleague.close()]);
    },
  );

  itNeeds(['chromium'])(
    'ends at once when the visitor leaves the page, and a new one can begin',
    AT_ONCE,
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      const left = await visitor.sessionId();
      await visitor.page.reload();
      expect(await settled(stage.product, left)).toMatchObject({
        status: 'completed',
        end_reason: 'user_hangup',
      });
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      expect(await visitor.sessionId()).not.toBe(left);
      await visitor.close();
    },
  );

  itNeeds(['chromium'])('continues over a second connection with the same token', AT_ONCE, async () => {
    const { product } = stage;
    const visitor = await TalkPage.open(stage.browser, product);
    const grant = await product.ask('POST', '/v1/agent/sessions', { agent_id: await demoAgentId(product) });
    const ask = () => visitor.page.evaluate<string>(`(${CONNECT_AND_ASK})(${JSON.stringify(grant)})`);
    expect(await ask()).toContain('noon');
    expect(await ask()).toContain('noon');
    expect(await product.ask('GET', `/v1/agent/sessions/${grant.session_id}`)).toMatchObject({
      status: 'active',
    });
    await product.ask('POST', `/v1/agent/sessions/${grant.session_id}/end`);
    const session = await settled(product, grant.session_id);
    expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
    await visitor.close();
  });

  itNeeds(['chromium'])('continues when the visitor’s network was down for long', AT_ONCE, async () => {
    const visitor = await TalkPage.open(stage.browser, stage.product);
    const network = await networkOf(visitor);
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await network.lose(100);
    await visitor.status('Connection lost, trying again');
    await new Promise((resolve) => setTimeout(resolve, NETWORK_GONE_MS));
    await network.lose(0);
    await visitor.status(/Listening|Speaking|Thinking/);
    await visitor.type('What are your opening hours?');
    await visitor.line('Agent', OPENING_HOURS);
    await visitor.press('Hang up');
    expect(await settled(stage.product, await visitor.sessionId())).toMatchObject({
      status: 'completed',
      end_reason: 'user_hangup',
      takeovers: [],
    });
    await visitor.close();
  });

  itNeeds(['chromium'])('shows a visitor without a microphone what to do', AT_ONCE, async () => {
    const mute = await launchBrowser();
    const visitor = await TalkPage.open(mute, stage.product);
    await visitor.press('Start talking');
    expect(await visitor.problem()).toBe(
      'No microphone was found; connect one and start again, or type instead',
    );
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await mute.close();
  });

  itNeeds(['chromium'])('is accessible: axe reports no serious finding, light or dark', AT_ONCE, async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const visitor = await TalkPage.open(stage.browser, stage.product, { colorScheme });
      await visitor.status('Ready when you are');
      expect(await seriousFindings(visitor.page)).toEqual([]);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await visitor.type('Who are you?');
      await visitor.line('You', 'Who are you?');
      expect(await seriousFindings(visitor.page)).toEqual([]);
      await visitor.press('Hang up');
      await visitor.status('The conversation has ended (user hangup)');
      expect(await seriousFindings(visitor.page)).toEqual([]);
      await visitor.close();
    }
  });

  itNeeds(['chromium'])(
    'reports that the server is unreachable, and works once it is back',
    AT_ONCE,
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.status('Ready when you are');
      await visitor.page.context().setOffline(true);
      await visitor.press('Type instead');
      expect(await visitor.problem()).toBe('The server cannot be reached');
      await visitor.page.context().setOffline(false);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await visitor.close();
    },
  );

  itNeeds(['chromium'])(
    'becomes possible without a reload if the page was opened before the server was ready',
    AT_ONCE,
    async () => {
      const visitor = await TalkPage.open(stage.browser, stage.product);
      await visitor.page.route('**/demo.json', (route) => route.abort());
      await visitor.page.reload();
      expect(await visitor.problem()).toBe('The server cannot be reached; trying again');
      await visitor.page.unroute('**/demo.json');
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await visitor.close();
    },
  );
});

describeWidget(stage);

/** Controls packet loss on connections that the page opens from now on; HTTP is not affected. */
async function networkOf({ page }: TalkPage): Promise<{ lose(percent: number): Promise<unknown> }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  const lose = (packetLoss: number) =>
    cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 1,
      downloadThroughput: -1,
      uploadThroughput: -1,
      packetLoss,
    });
  await lose(0);
  return { lose };
}
