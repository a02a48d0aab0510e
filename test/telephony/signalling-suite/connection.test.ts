import { afterEach, beforeEach, expect, it } from 'vitest';
import { header, parameter, type SipMessage } from '#telephony/embedded/message.ts';
import type { IncomingInvite, Signalling, SipDialog } from '#telephony/signalling.ts';
import { type Link, openLink } from '#test/fakes/link.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';
import { connectWorker, describeServers, type SuiteServer } from './servers.ts';

const PATIENCE = { timeout: 30_000 };
const description = (port: number) =>
  `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0\r\n`;

/** The worker stays the same; its connection to the server, or the server itself, is lost and restored. */
describeServers([], 'a call whose worker loses its connection', (start) => {
  let server: SuiteServer;
  let link: Link;
  let worker: Signalling;
  let phone: RawCaller;
  let invites: IncomingInvite[];
  let ended: number;

  beforeEach(async () => {
    [invites, ended] = [[], 0];
    server = await start();
    link = await openLink(server.appPort);
    worker = await connectWorker(server, { port: link.port });
    worker.onInvite((invite) => invites.push(invite));
    phone = await openRawCaller(server.sipPort);
  });
  afterEach(async () => {
    phone.close();
    worker.close();
    await link.close();
    await server.close();
  });

  const tagOf = (message: SipMessage) => parameter(header(message, 'to') ?? '', 'tag') ?? '';
  const heardRequests = (method: string) =>
    phone.heard.filter(
      ({ start: { kind, ...line } }) => kind === 'request' && 'method' in line && line.method === method,
    );

  function listen(dialog: SipDialog): void {
    dialog.listen({
      onEnded: () => (ended += 1),
      onOffer: () => description(5_000),
      makeOffer: () => description(5_000),
      onAnswer: () => undefined,
      onInfo: () => undefined,
    });
  }

  /** The phone calls; resolves with our dialog and both tags. */
  async function callIn(): Promise<{ dialog: SipDialog; ourTag: string; theirTag: string }> {
    phone.request({ body: description(4_000) });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    const dialog = await invites[0]!.answer(description(5_000));
    listen(dialog);
    const ourTag = tagOf(await phone.response(200, PATIENCE.timeout));
    phone.request({ method: 'ACK', toTag: ourTag });
    return { dialog, ourTag, theirTag: 'caller' };
  }

  /** Calls the phone; resolves with our dialog and both tags. */
  async function callOut(): Promise<{ dialog: SipDialog; ourTag: string; theirTag: string }> {
    const toUri = `sip:+15550199@127.0.0.1:${phone.port}`;
    const call = worker.dial({
      toUri,
      fromNumber: '+15550100',
      sdpOffer: description(5_000),
      headers: {},
      credentials: null,
    });
    const invite = await phone.incoming('INVITE', PATIENCE.timeout);
    phone.answer(tagged(invite, 'phone'), 200, description(4_000));
    const dialog = await call.answered;
    listen(dialog);
    await phone.incoming('ACK', PATIENCE.timeout);
    return { dialog, ourTag: dialog.facts.localTag, theirTag: 'phone' };
  }

  /**
   * Breaks the connection, and waits until the reconnected worker has sent a request to the phone, which
   * accepts it.
   */
  async function loseAndRegain(): Promise<void> {
    const before = heardRequests('INVITE').length;
    link.cut();
    await expect.poll(() => worker.isConnected, PATIENCE).toBe(false);
    link.mend();
    const reinvite = () => heardRequests('INVITE')[before];
    await expect.poll(reinvite, PATIENCE).toBeTruthy();
    phone.answer(reinvite()!, 200, description(4_000));
    const cseq = Number.parseInt(header(reinvite()!, 'cseq') ?? '', 10);
    await phone.next((message) => header(message, 'cseq') === `${cseq} ACK`, PATIENCE.timeout);
  }

  describeEach('its connection breaks once', 1);
  describeEach('its connection breaks again and again', 3);

  function describeEach(title: string, times: number): void {
    it.each([
      ['in', callIn],
      ['out', callOut],
    ] as const)(`${title}: a call %s continues, and ends with the phone’s hang-up`, async (_, call) => {
      const { dialog, ourTag, theirTag } = await call();
      for (let n = 0; n < times; n++) await loseAndRegain();
      phone.request({
        method: 'BYE',
        toTag: ourTag,
        cseq: 1_000,
        callId: dialog.facts.sipCallId,
        fromTag: theirTag,
      });
      await expect.poll(() => ended, PATIENCE).toBe(1);
    });

    it.each([
      ['in', callIn],
      ['out', callOut],
    ] as const)(`${title}: a call %s continues, and ends with ours`, async (_, call) => {
      const { dialog } = await call();
      for (let n = 0; n < times; n++) await loseAndRegain();
      void dialog.hangUp();
      const bye = await phone.incoming('BYE', PATIENCE.timeout);
      phone.answer(bye, 200);
      const cseqOf = (message: SipMessage | undefined) =>
        Number.parseInt((message && header(message, 'cseq')) ?? '', 10);
      expect(cseqOf(bye)).toBeGreaterThan(cseqOf(heardRequests('INVITE').at(-1)));
    });
  }
});

/** A request as its recipient with this tag sees it. */
function tagged(request: SipMessage, tag: string): SipMessage {
  return {
    ...request,
    headers: request.headers.map((each) =>
      each.name === 'To' ? { ...each, value: `${each.value};tag=${tag}` } : each,
    ),
  };
}
