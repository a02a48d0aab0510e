import { afterEach, beforeEach, expect, it } from 'vitest';
import { header, parameter, type SipMessage } from '#telephony/embedded/message.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';
import { connectWorker, describeServers, expectDialogs, type SuiteServer } from './servers.ts';

const PATIENCE = { timeout: 15_000, interval: 5 };
const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

describeServers(
  [],
  'reliable provisional responses (RFC 3262) and forked answers (RFC 3261 §13.2.2.4)',
  (start, beyond) => {
    let server: SuiteServer;
    let worker: Signalling;
    let caller: RawCaller;
    let invites: IncomingInvite[];

    beforeEach(async () => {
      invites = [];
      server = await start();
      worker = await connectWorker(server);
      worker.onInvite((invite) => invites.push(invite));
      caller = await openRawCaller(server.sipPort);
    });
    afterEach(async () => {
      caller.close();
      worker.close();
      await server.close();
    });

    const tagOf = (message: SipMessage) => parameter(header(message, 'to') ?? '', 'tag') ?? '';

    it('a caller who requires 100rel gets the ringing repeatedly until the PRACK', async () => {
      const { ringing } = await ringingReliably();
      const rseq = Number(header(ringing, 'rseq'));
      caller.request({ method: 'PRACK', cseq: 2, toTag: tagOf(ringing), lines: [`RAck: ${rseq} 1 INVITE`] });
      await expect.poll(() => caller.responses, PATIENCE).toContain('200 PRACK');
      await invites[0]!.answer(sdp);
      await expect.poll(() => caller.responses, PATIENCE).toContain('200 INVITE');
    });

    beyond('a PRACK without a response to acknowledge is rejected', async () => {
      const { ringing } = await ringingReliably();
      caller.request({
        method: 'PRACK',
        cseq: 2,
        toTag: tagOf(ringing),
        lines: [`RAck: ${Number(header(ringing, 'rseq')) + 7} 1 INVITE`],
      });
      await caller.response(481, PATIENCE.timeout);
    });

    it('a callee that rings reliably gets one PRACK', async () => {
      const { call, as, reliable, pracks } = await calledOut();
      reliable('one');
      await expect.poll(() => pracks().length, PATIENCE).toBe(1);
      reliable('one');
      caller.answer(pracks()[0]!, 200);
      caller.answer(as('one'), 200, sdp);
      const dialog = await call.answered;
      expect(dialog.facts.remoteTag).toBe('one');
      await caller.incoming('ACK', PATIENCE.timeout);
      expect(new Set(pracks().map((prack) => header(prack, 'cseq'))).size).toBe(1);
    });

    async function ringingReliably(): Promise<{ readonly ringing: SipMessage }> {
      caller.request({ body: sdp, lines: ['Require: 100rel'] });
      await expect.poll(() => invites.length, PATIENCE).toBe(1);
      invites[0]!.ring();
      const ringing = await caller.response(180, PATIENCE.timeout);
      expect(header(ringing, 'require')).toBe('100rel');
      await expect
        .poll(() => caller.responses.filter((response) => response === '180 INVITE').length, PATIENCE)
        .toBeGreaterThan(1);
      return { ringing };
    }

    /** Calls the test caller, which answers as several phones behind it would. */
    async function calledOut() {
      const call = worker.dial({
        toUri: `sip:+15550199@127.0.0.1:${caller.port}`,
        fromNumber: '+15550100',
        sdpOffer: sdp,
        headers: {},
        credentials: null,
      });
      const invite = await caller.incoming('INVITE', PATIENCE.timeout);
      expect(header(invite, 'supported')).toBe('100rel');
      const as = (tag: string, more: SipMessage['headers'] = []): SipMessage => ({
        ...invite,
        headers: [
          ...invite.headers.map((each) =>
            each.name === 'To' ? { ...each, value: `${each.value};tag=${tag}` } : each,
          ),
          ...more,
        ],
      });
      const reliable = (tag: string) => {
        const same = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map(
          (name) => `${name}: ${header(as(tag), name.toLowerCase())}`,
        );
        const more = [
          `Contact: <sip:${tag}@127.0.0.1:${caller.port}>`,
          'Require: 100rel',
          'RSeq: 41',
          'Content-Length: 0',
          '',
          '',
        ];
        caller.send(['SIP/2.0 180 Ringing', ...same, ...more].join('\r\n'));
      };
      const pracks = () =>
        caller.heard.filter(({ start }) => start.kind === 'request' && start.method === 'PRACK');
      return { invite, call, as, reliable, pracks };
    }

    beyond(
      'each reliable ringing gets one PRACK, and the second answer to a forked INVITE gets its ACK and a BYE',
      async () => {
        const { invite, call, as, reliable, pracks } = await calledOut();
        reliable('one');
        await expect.poll(() => pracks().length, PATIENCE).toBe(1);
        reliable('one');
        reliable('two');
        await expect.poll(() => new Set(pracks().map(tagOf)), PATIENCE).toEqual(new Set(['one', 'two']));
        expect(new Set(pracks().map((prack) => header(prack, 'rack')))).toEqual(
          new Set([`41 ${header(invite, 'cseq')}`]),
        );
        expect(
          new Set(
            pracks()
              .filter((prack) => tagOf(prack) === 'one')
              .map((prack) => header(prack, 'cseq')),
          ).size,
        ).toBe(1);
        for (const prack of pracks()) caller.answer(prack, 200);
        caller.answer(as('two'), 200, sdp);
        const dialog = await call.answered;
        expect(dialog.facts.remoteTag).toBe('two');
        caller.answer(as('one'), 200, sdp);
        const bye = await caller.incoming('BYE', PATIENCE.timeout);
        expect(tagOf(bye)).toBe('one');
        const acked = () =>
          new Set(
            caller.heard.filter(({ start }) => start.kind === 'request' && start.method === 'ACK').map(tagOf),
          );
        await expect.poll(acked, PATIENCE).toEqual(new Set(['one', 'two']));
        await expectDialogs(server, 1);
      },
    );
  },
);
