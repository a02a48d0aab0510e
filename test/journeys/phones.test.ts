/**
 * Journey: real softphones register to the whole product with credentials of their own, call an agent by its
 * extension, and are rung by its transfers, also after each part was killed.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { parseWav } from '#caller/wav.ts';
import { answerPhone, dial, type Phone, type PhoneOptions } from '#test/fakes/baresip.ts';
import { type Linphone, startLinphone } from '#test/fakes/linphone.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeWhereThere, itNeeds } from '#test/needs.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, type ProductPart, startProduct } from './product.ts';
import { launchBrowser } from './talk-page.ts';

const RATE_HZ = 8_000;
const [CALLERS_HZ, DESK_HZ, MOBILE_HZ] = [440, 1_000, 700];
/** Tone power above which the tone counts as heard. */
const HEARD = 100_000;

/** A phone as the API makes it. */
interface Account {
  readonly sip_phone_id: string;
  readonly username: string;
  readonly password: string;
}

describeWhereThere(['baresip', 'linphonec'])('phones that register here', { timeout: 240_000 }, () => {
  let product: Product;
  let model: OpenaiServer;
  let agentId: string;
  let caller: Account;
  let desk: Account;
  const phones: Phone[] = [];
  const linphones: Linphone[] = [];

  const registrar = () => product.sipAddress('x').replace(/^sip:x@/, '');
  const registrations = async ({ sip_phone_id: id }: Account) =>
    (await product.ask('GET', `/v1/agent/sip-phones/${id}`)).registrations as {
      readonly transport: string;
      readonly user_agent: string;
    }[];
  const login = ({ username, password }: Account, transport: 'udp' | 'tcp' = 'udp'): PhoneOptions => ({
    user: username,
    credentials: { username, password },
    registrar: { address: registrar(), transport },
  });
  const untilRegistered = (account: Account, count: number) =>
    product.until(`${count} devices are registered`, async () => {
      return (await registrations(account)).length === count;
    });
  const hears = (phone: Pick<Phone, 'heard'>, hz: number) =>
    product.until(`${hz} Hz is heard`, () => power(phone.heard().subarray(-RATE_HZ), hz) > HEARD);
  const latest = async () => {
    const { sessions } = await product.ask('GET', '/v1/agent/sessions?page_size=1');
    return product.ask('GET', `/v1/agent/sessions/${sessions[0].session_id}`);
  };

  async function kept(starting: Promise<Phone>): Promise<Phone> {
    const phone = await starting;
    phones.push(phone);
    return phone;
  }

  /** A phone calls the agent, hears it, and asks for the desk by a key. */
  async function asksForDesk(): Promise<Phone> {
    const phone = await kept(dial(product.sipAddress('101'), tone(CALLERS_HZ, 120_000), login(caller)));
    await product.until('the agent is heard', () => voicedSeconds(phone.heard(), RATE_HZ) > 0.2);
    await phone.press('1');
    return phone;
  }

  async function closeAll(): Promise<void> {
    await Promise.all(phones.splice(0).map((phone) => phone.close()));
    await Promise.all(linphones.splice(0).map((phone) => phone.close()));
  }

  beforeAll(async () => {
    model = await startOpenaiServer({ chat: ({ messages }) => answerTo(messages) });
    product = await startProduct();
    const make = (extension: string) => product.ask('POST', '/v1/agent/sip-phones', { extension });
    [caller, desk] = [await make('205'), await make('204')];
    const { agent_id: id } = await product.ask('POST', '/v1/agent/agents', {
      name: 'Desk',
      config: config(model),
    });
    agentId = id;
    await product.ask('PATCH', `/v1/agent/agents/${id}`, { extension: '101' });
    await product.ask('POST', `/v1/agent/agents/${id}/publish`);
  }, 180_000);
  afterAll(async () => {
    await closeAll();
    await product?.close();
    await model?.close();
  }, 60_000);

  it('are refused with a wrong password, and seen by their holder', async () => {
    await kept(answerPhone(tone(DESK_HZ, 1_000), login({ ...desk, password: 'wrong' })));
    await product.until('the holder sees it', async () => {
      const { last_refused } = await product.ask('GET', `/v1/agent/sip-phones/${desk.sip_phone_id}`);
      return last_refused?.source_address === '127.0.0.1';
    });
    expect(await registrations(desk)).toEqual([]);
    await closeAll();
  });

  it('call an agent by its extension: each side hears the other', async () => {
    const phone = await kept(dial(product.sipAddress('101'), tone(CALLERS_HZ, 60_000), login(caller)));
    await product.until('the agent is heard', () => voicedSeconds(phone.heard(), RATE_HZ) > 0.2);
    const session = await latest();
    expect(session).toMatchObject({ caller_number: '205', dialed_number: '101' });
    await phone.press('7');
    await product.until('the agent has heard the key', async () =>
      (await latest()).items.some(({ content }: { content?: string }) => content === ANSWER),
    );
    await phone.hangUp();
    const track = async () => {
      const { tracks } = await product.ask('GET', `/v1/agent/sessions/${session.session_id}/recording`);
      return tracks.find(({ role }: { role: string }) => role === 'user');
    };
    await product.until('the caller is on record', async () => (await track())?.status === 'complete');
    const { samples } = parseWav(Buffer.from(await (await fetch((await track()).url)).arrayBuffer()));
    expect(power(samples.subarray(-RATE_HZ), CALLERS_HZ)).toBeGreaterThan(HEARD);
    await closeAll();
  });

  it('with Linphone too', async () => {
    const { username, password } = caller;
    const phone = await startLinphone(username, registrar(), tone(CALLERS_HZ, 60_000), password);
    linphones.push(phone);
    phone.dial(product.sipAddress('101'));
    await product.until('the agent answers', async () => (await latest()).status === 'active');
    await new Promise((done) => setTimeout(done, 4_000));
    phone.hangUp();
    await expect.poll(() => voicedSeconds(phone.heard(), RATE_HZ), { timeout: 10_000 }).toBeGreaterThan(0.2);
    await closeAll();
  });

  it('are rung by a transfer, and talk with the caller', async () => {
    const rung = await kept(answerPhone(tone(DESK_HZ, 120_000), login(desk)));
    await untilRegistered(desk, 1);
    const phone = await asksForDesk();
    await hears(rung, CALLERS_HZ);
    await hears(phone, DESK_HZ);
    await phone.hangUp();
    await closeAll();
  });

  it('ring at once, over UDP and TCP: the one that answers has the call, the other is cancelled', async () => {
    await product.ask('POST', `/v1/agent/sip-phones/${desk.sip_phone_id}/password`).then((made) => {
      desk = made;
    });
    const silent = await kept(answerPhone(new Int16Array(0), { ...login(desk), answers: false }));
    const rung = await kept(answerPhone(tone(DESK_HZ, 120_000), login(desk, 'tcp')));
    const { username, password } = desk;
    linphones.push(await startLinphone(username, registrar(), tone(MOBILE_HZ, 60_000), password));
    await untilRegistered(desk, 3);
    const transports = (await registrations(desk)).map(({ transport }) => transport);
    expect(transports.toSorted()).toEqual(['tcp', 'udp', 'udp']);
    const phone = await asksForDesk();
    const heard = await Promise.any([
      hears(phone, DESK_HZ).then(() => 'desk'),
      hears(phone, MOBILE_HZ).then(() => 'mobile'),
    ]);
    if (heard === 'desk') await hears(rung, CALLERS_HZ);
    expect(silent.heard()).toHaveLength(0);
    await phone.hangUp();
    await closeAll();
  });

  it('are still rung after each part was killed', async () => {
    desk = await product.ask('POST', `/v1/agent/sip-phones/${desk.sip_phone_id}/password`);
    const rung = await kept(answerPhone(tone(DESK_HZ, 240_000), login(desk)));
    await untilRegistered(desk, 1);
    for (const part of ['control-plane', 'signalling', 'worker'] satisfies ProductPart[])
      expect(product.kill(part)).toBeGreaterThan(0);
    await product.until('it is ready', async () => (await fetch(`${product.url}/readyz`)).status === 200);
    const phone = await asksForDesk();
    await hears(rung, CALLERS_HZ);
    await phone.hangUp();
    await closeAll();
  });

  itNeeds(['chromium'])('are made in the console, which shows where they are', async () => {
    const browser = await launchBrowser();
    const viewport = { width: 390, height: 844 };
    const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport });
    await person.go('/numbers');
    await person.press('Add a phone');
    const dialog = person.page.getByRole('dialog', { name: 'Add a phone that registers here' });
    await dialog.getByLabel('Extension').fill('206');
    await dialog.getByLabel('Name').fill('Ada');
    await dialog.getByRole('button', { name: 'Make the phone' }).click();
    await dialog.locator('code').nth(1).waitFor();
    const [username = '', password = ''] = await dialog.locator('code').allTextContents();
    expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
    await kept(answerPhone(new Int16Array(0), login({ sip_phone_id: '', username, password })));
    await person.go('/numbers');
    const row = person.page.getByRole('region', { name: 'Phones' }).locator('tr', { hasText: '206' });
    await row.getByText('Registered', { exact: true }).waitFor();
    await row.getByText(/baresip.*127\.0\.0\.1 over UDP/).waitFor();
    expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
    await person.go(`/agents/${agentId}`);
    await person.page.getByRole('tab', { name: 'Access' }).click();
    await person.page.getByLabel('Extension').fill('102');
    await person.press('Save name');
    await product.until('the agent has it', async () => {
      return (await product.ask('GET', `/v1/agent/agents/${agentId}`)).extension === '102';
    });
    await person.page.getByLabel('Extension').fill('101');
    await person.press('Save name');
    await product.until('the agent has its own again', async () => {
      return (await product.ask('GET', `/v1/agent/agents/${agentId}`)).extension === '101';
    });
    await person.close();
    await browser.close();
    await closeAll();
  });

  it('are rung as a colleague, who takes the call over and is gone when they hang up', async () => {
    desk = await product.ask('POST', `/v1/agent/sip-phones/${desk.sip_phone_id}/password`);
    const rung = await kept(answerPhone(tone(DESK_HZ, 120_000), login(desk)));
    await untilRegistered(desk, 1);
    const phone = await kept(dial(product.sipAddress('101'), tone(CALLERS_HZ, 120_000), login(caller)));
    await product.until('the agent is heard', () => voicedSeconds(phone.heard(), RATE_HZ) > 0.2);
    const { session_id: id } = await latest();
    const wanted = { name: 'Ada', mode: 'take_over', phone_extension: '204' };
    const joined = await product.ask('POST', `/v1/agent/sessions/${id}/participants`, wanted);
    expect(joined).toMatchObject({ transport: 'phone', session_id: id });
    await hears(rung, CALLERS_HZ);
    await hears(phone, DESK_HZ);
    await rung.hangUp();
    await product.until('they have left', async () => {
      const events = (await latest()).items.map(({ event }: { event?: string }) => event);
      return ['joined', 'took_over', 'left'].every((event) => events.includes(event));
    });
    await phone.hangUp();
    await closeAll();
  });

  it('that are switched off do not answer, and the agent says so', async () => {
    desk = await product.ask('POST', `/v1/agent/sip-phones/${desk.sip_phone_id}/password`);
    const phone = await asksForDesk();
    const failed = async () =>
      (await latest()).items.find(({ type }: { type: string }) => type === 'tool_result')?.error;
    await product.until('the transfer has failed', async () => (await failed()) !== undefined);
    expect(await failed()).toBe('No phone with the extension 204 is switched on and registered now.');
    await product.until('the agent is back', async () =>
      (await latest()).items.some(({ content }: { content?: string }) => content === SORRY),
    );
    await phone.hangUp();
  });
});

const SORRY = 'I am sorry, nobody is there.';
const ANSWER = 'I have written the seven down.';

function answerTo(messages: readonly { readonly role: string; readonly content: unknown }[]) {
  const last = messages.at(-1);
  if (last?.role === 'tool') return say(SORRY);
  const isAsked = String(last?.content).includes('Keypad entry: 1');
  return isAsked ? callTool('_transfer_call', { destination: 'Desk', notes: '' }) : say(ANSWER);
}

function config(model: OpenaiServer) {
  return {
    prompt: { system_prompt: 'You answer.', first_message_mode: 'fixed', first_message: 'Hello.' },
    conversation: {
      keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 },
      transfer_destinations: [{ label: 'Desk', type: 'sip_phone', phone_extension: '204' }],
    },
    llm: { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } },
  };
}
