import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, parameter } from '#telephony/embedded/message.ts';
import { openTwoServers, PATIENCE, THEIR_SDP, type TwoServers } from '../../telephony/two-servers.ts';
import { openTestWorker, type TestWorker, until } from './open-test-worker.ts';

const CALL_ID = 's1@peer';

describe('the dialog of a phone call', () => {
  let two: TwoServers;
  let bench: TestWorker;
  beforeEach(async () => {
    two = await openTwoServers();
    bench = await openTestWorker();
    await bench.start({ signalling: two.parts.worker });
  });
  afterEach(async () => {
    await bench.close();
    await two.close();
  });

  it('is reported again when another SIP server has it, so that a failover begins there', async () => {
    const { links, phones } = two.parts;
    const placement = await bench.dispatch.place(bench.offer('s1', 'phone'));
    bench.dispatch.assign(placement, bench.session('s1'), bench.planOf('s1'));
    phones[0].request({ callId: CALL_ID, body: THEIR_SDP });
    const answer = await phones[0].response(200, PATIENCE.timeout);
    const toTag = parameter(header(answer, 'to') ?? '', 'tag');
    phones[0].request({ method: 'ACK', callId: CALL_ID, toTag });
    const servers = () =>
      bench.reports('s1').flatMap((report) => (report.type === 'dialog' ? [report.server] : []));
    const [first, second] = links.map(({ port }) => `127.0.0.1:${port}`);
    await until(() => expect(servers()).toEqual([first]));

    await two.loseFirst();
    const moved = await two.acceptReinvite();
    await until(() => expect(servers()).toEqual([first, second]));
    expect(bench.reports('s1').findLast(({ type }) => type === 'dialog')).toMatchObject({
      sip_call_id: CALL_ID,
      local_cseq: Number.parseInt(header(moved, 'cseq') ?? '', 10),
    });
  });
});
