/**
 * Journey: the whole product registers at a Kamailio that checks passwords. A softphone of that PBX calls the
 * agent and is called, and calls go on and come in after each part was killed.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { type Kamailio, PBX_PASSWORD, startPbx } from '#test/fakes/kamailio.ts';
import { type Linphone, startLinphone } from '#test/fakes/linphone.ts';
import { tone } from '#test/fakes/tone.ts';
import { describeWhereThere, itNeeds } from '#test/needs.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, type ProductPart, startProduct } from './product.ts';
import { launchBrowser } from './talk-page.ts';
import { demoAgentId } from './tenant.ts';

const NUMBER = '+4930123456';
const RATE_HZ = 8_000;
/** A phone is refused while no worker is there, and does not try again by itself. */
const REDIAL_MS = 6_000;

describeWhereThere(['kamailio', 'linphonec'])('an account at a PBX', { timeout: 240_000 }, () => {
  let product: Product;
  let pbx: Kamailio;
  let phone: Linphone;
  let agentId: string;
  let numberId: string;
  let lineId: string;

  const line = () => product.ask('GET', `/v1/agent/sip-registrations/${lineId}`);
  const sessions = async (query: string) =>
    (await product.ask('GET', `/v1/agent/sessions?${query}`)).sessions as {
      readonly session_id: string;
      readonly status: string;
      readonly dialed_number: string;
    }[];
  const live = async () => {
    const active = await sessions('status=active');
    return active.filter(({ dialed_number }) => dialed_number === NUMBER);
  };

  beforeAll(async () => {
    pbx = await startPbx();
    [product, phone] = await Promise.all([
      startProduct(),
      startLinphone('alice', pbx.address, tone(700, 60_000)),
    ]);
    agentId = await demoAgentId(product);
    const trunkless = { provider: 'sip', inbound_allowed_addresses: ['203.0.113.20'] };
    const imported = { ...trunkless, phone_number: NUMBER, agent_id: agentId };
    numberId = (await product.ask('POST', '/v1/agent/phone-numbers', imported)).phone_number_id;
    const account = { registrar: pbx.address, username: 'ext204', password: PBX_PASSWORD };
    const connected = { ...account, phone_number_id: numberId, keep_alive_seconds: 10 };
    lineId = (await product.ask('POST', '/v1/agent/sip-registrations', connected)).sip_registration_id;
    await product.until('it is registered', async () => (await line()).state === 'registered');
  }, 180_000);
  afterAll(async () => {
    await phone?.close();
    await product?.close();
    await pbx?.close();
  }, 60_000);

  /** The phone calls the account, again when it was refused, until the agent answers. */
  async function answered(): Promise<void> {
    let dialledMs = Number.NEGATIVE_INFINITY;
    await product.until('the agent has answered', async () => {
      if ((await live()).length === 1) return true;
      if (performance.now() - dialledMs > REDIAL_MS) {
        phone.hangUp();
        phone.dial(`sip:ext204@${pbx.address}`);
        dialledMs = performance.now();
      }
      return false;
    });
  }

  async function hungUp(): Promise<void> {
    phone.hangUp();
    await product.until('the call is over', async () => (await live()).length === 0);
  }

  it('is answered by the agent, whom the caller hears', async () => {
    await answered();
    // The greeting.
    await new Promise((done) => setTimeout(done, 4_000));
    await hungUp();
    await expect.poll(() => voicedSeconds(phone.heard(), RATE_HZ), { timeout: 10_000 }).toBeGreaterThan(1);
  });

  it('keeps its call when the worker is killed', async () => {
    await answered();
    const [before] = await live();
    product.kill('worker');
    await product.until('another worker has it', async () => {
      const { takeovers } = await product.ask('GET', `/v1/agent/sessions/${before?.session_id}`);
      return takeovers.length === 1;
    });
    expect((await live()).map(({ session_id }) => session_id)).toEqual([before?.session_id]);
    await hungUp();
  });

  it('is registered, and answered by the agent, after each part was killed', async () => {
    for (const part of ['control-plane', 'signalling', 'worker'] satisfies ProductPart[]) {
      expect(product.kill(part)).toBeGreaterThan(0);
      await product.until(`it is registered without its ${part}`, async () => {
        const ready = await fetch(`${product.url}/readyz`);
        return ready.status === 200 && (await line()).state === 'registered';
      });
      await answered();
      await hungUp();
    }
  });

  itNeeds(['chromium'])(
    'is shown in the console, which connects another and says what is wrong',
    async () => {
      const browser = await launchBrowser();
      const viewport = { width: 390, height: 844 };
      const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport });
      await person.go('/numbers');
      const lines = person.page.getByRole('region', { name: 'Connected PBXs' });
      await lines.getByText(`ext204@${pbx.address}`).waitFor();
      await lines.getByText('Registered', { exact: true }).waitFor();
      await person.press('Connect a PBX');
      const dialog = person.page.getByRole('dialog', { name: 'Connect a PBX by a registration' });
      await dialog.getByLabel('Host').fill(pbx.address);
      await dialog.getByLabel('Username').fill('ext205');
      await dialog.getByLabel('Password', { exact: true }).fill('wrong');
      expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
      await dialog.getByRole('button', { name: 'Connect' }).click();
      await lines.getByText('does not accept the username and password').waitFor();
      expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
      await person.close();
      await browser.close();
    },
  );

  it('calls a phone of the PBX', async () => {
    const call = { agent_id: agentId, phone_number_id: numberId, to_number: '+12125550123' };
    const { session_id: id } = await product.ask('POST', '/v1/agent/phone-calls', call);
    await product.until('it is answered', async () => {
      const { status } = await product.ask('GET', `/v1/agent/sessions/${id}`);
      return status === 'active';
    });
    await product.ask('POST', `/v1/agent/sessions/${id}/end`);
  });
});
