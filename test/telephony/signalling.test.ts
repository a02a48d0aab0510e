import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { type App, type AppCommand, openAppPort } from '#telephony/embedded/app-protocol.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { connectTestWorker } from '#test/fakes/signalling.ts';

const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const headers = (cseq: string, toTag = '') =>
  `From: <sip:a@127.0.0.1>;tag=a\r\nTo: <sip:b@127.0.0.1>${toTag}\r\nCall-ID: call-1\r\nCSeq: ` +
  `${cseq}\r\nContact: <sip:a@127.0.0.1:5090>\r\n`;
const meta = (source: string) => [source, '1', 'udp', '127.0.0.1', '5090', '00:00:00.000000'];
const invite =
  `INVITE sip:b@127.0.0.1 SIP/2.0\r\n${headers('1 INVITE')}Content-Length: ` + `${sdp.length}\r\n\r\n${sdp}`;
const bye = `BYE sip:b@127.0.0.1 SIP/2.0\r\n${headers('2 BYE', ';tag=b')}Content-Length: 0\r\n\r\n`;
const ack = bye.replaceAll('BYE', 'ACK').replace('CSeq: 2', 'CSeq: 1');
const reinvite =
  `INVITE sip:b@127.0.0.1 SIP/2.0\r\n${headers('2 INVITE', ';tag=b')}Content-Length: ` +
  `${sdp.length}\r\n\r\n${sdp}`;
const ok = `SIP/2.0 200 OK\r\n${headers('1 INVITE', ';tag=b')}Content-Length: ${sdp.length}\r\n\r\n${sdp}`;

/** A SIP server as an application sees it, with every message chosen by the test. */
describe('the worker’s end of signalling', () => {
  let port: Awaited<ReturnType<typeof openAppPort>>;
  let worker: Signalling;
  let commands: string[];
  let onCommand: (app: App, command: AppCommand) => void;
  const invites: IncomingInvite[] = [];

  beforeEach(async () => {
    commands = [];
    invites.length = 0;
    onCommand = (app, command) => app.answer(command.messageId, true);
    port = await openAppPort({
      host: '127.0.0.1',
      port: 0,
      secret: 'secret',
      hostPorts: () => ['udp/127.0.0.1:5060'],
      onSip: (app, command) => {
        commands.push(command.raw.split('\r\n')[0] ?? '');
        onCommand(app, command);
      },
      onForget: () => undefined,
      onLost: () => undefined,
    });
    worker = await connectTestWorker({ appPort: port.port });
    worker.onInvite((next) => invites.push(next));
    await expect
      .poll(() => [...port.apps].some((app) => app.verbs.has('invite')), { interval: 5 })
      .toBe(true);
  });

  afterEach(async () => {
    worker.close();
    await port.close();
  });

  async function incoming(): Promise<{ app: App; invite: IncomingInvite }> {
    const [app] = [...port.apps];
    if (!app) throw new Error('not connected');
    app.deliver(['sip', ...meta('network'), 'txn-1', '', '127.0.0.1', '5060', ''], invite);
    await expect.poll(() => invites.length, { interval: 5 }).toBe(1);
    return { app, invite: invites[0] as IncomingInvite };
  }

  it('a BYE in the same read as the confirmation of the answer ends the call', async () => {
    const { invite: call } = await incoming();
    onCommand = (app, command) => {
      app.answer(
        command.messageId,
        true,
        [...meta('application'), 'txn-1', 'dialog-1', '', 'Msg sent:', ''],
        ok,
      );
      app.deliver(['sip', ...meta('network'), 'txn-2', 'dialog-1', ''], bye);
    };
    const dialog = await call.answer(sdp);
    const ended = new Promise<void>((resolve) =>
      dialog.listen({
        onEnded: resolve,
        onOffer: () => null,
        makeOffer: () => '',
        onAnswer: () => undefined,
        onInfo: () => undefined,
      }),
    );
    await Promise.race([
      ended,
      systemClock.sleep(2000).then(() => Promise.reject(new Error('the BYE was missed'))),
    ]);
  });

  it('a re-INVITE in the same read as the confirmation of the answer reaches the listener', async () => {
    const { invite: call } = await incoming();
    onCommand = (app, command) => {
      onCommand = (_app, { messageId }) => app.answer(messageId, true);
      app.answer(
        command.messageId,
        true,
        [...meta('application'), 'txn-1', 'dialog-1', '', 'Msg sent:', ''],
        ok,
      );
      app.deliver(['sip', ...meta('network'), 'dialog-1', 'dialog-1', ''], ack);
      app.deliver(['sip', ...meta('network'), 'txn-2', 'dialog-1', ''], reinvite);
    };
    const dialog = await call.answer(sdp);
    dialog.listen({
      onEnded: () => undefined,
      onOffer: () => sdp,
      makeOffer: () => '',
      onAnswer: () => undefined,
      onInfo: () => undefined,
    });
    await expect
      .poll(() => commands, { timeout: 10_000, interval: 5 })
      .toEqual(['SIP/2.0 200 OK', 'SIP/2.0 200 OK']);
  });

  it('a re-INVITE overtaken by a BYE in the same read is terminated (RFC 3261 §15.1.2)', async () => {
    const { invite: call } = await incoming();
    onCommand = (app, command) => {
      onCommand = (_app, { messageId }) => app.answer(messageId, true);
      app.answer(
        command.messageId,
        true,
        [...meta('application'), 'txn-1', 'dialog-1', '', 'Msg sent:', ''],
        ok,
      );
      app.deliver(['sip', ...meta('network'), 'txn-2', 'dialog-1', ''], reinvite);
      app.deliver(['sip', ...meta('network'), 'txn-3', 'dialog-1', ''], bye.replace('CSeq: 2', 'CSeq: 3'));
    };
    await call.answer(sdp);
    await expect
      .poll(() => commands, { timeout: 10_000, interval: 5 })
      .toEqual(['SIP/2.0 200 OK', 'SIP/2.0 200 OK', 'SIP/2.0 487 Request Terminated']);
  });

  it('an INVITE without a Contact is refused', async () => {
    const [app] = [...port.apps];
    app?.deliver(
      ['sip', ...meta('network'), 'txn-1', '', '127.0.0.1', '5060', ''],
      invite.replace(/Contact:.*\r\n/, ''),
    );
    await expect.poll(() => commands.length, { interval: 5 }).toBe(1);
    expect(commands[0]).toContain('SIP/2.0 400');
    expect(invites).toEqual([]);
  });

  it('a cancelled call is not answered', async () => {
    const { app, invite: call } = await incoming();
    app.deliver(
      ['sip', ...meta('network'), 'txn-1', '', ''],
      bye.replaceAll('BYE', 'CANCEL').replace('CSeq: 2', 'CSeq: 1'),
    );
    await new Promise<void>((resolve) => call.onCancel(resolve));
    await expect(call.answer(sdp)).rejects.toThrow();
    expect(commands).toEqual([]);
  });

  it('detects a lost connection, reconnects by itself, and can be closed in either state', async () => {
    const reopened = port.port;
    await port.close();
    await expect.poll(() => worker.isConnected, { interval: 5 }).toBe(false);
    port = await openAppPort({
      host: '127.0.0.1',
      port: reopened,
      secret: 'secret',
      hostPorts: () => [],
      onSip: () => undefined,
      onForget: () => undefined,
      onLost: () => undefined,
    });
    await expect.poll(() => worker.isConnected, { timeout: 5000 }).toBe(true);
    await port.close();
    await expect.poll(() => worker.isConnected, { interval: 5 }).toBe(false);
    worker.close();
  });
});
