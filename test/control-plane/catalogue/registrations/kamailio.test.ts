/**
 * A registration at a real Kamailio that checks passwords, with a softphone behind it: calls in and out
 * through admission, signalling and media, and the takeover of such a call by another worker.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { dialLine } from '#runtime/calls/dial-line.ts';
import { failOverSipCall } from '#telephony/failover-call.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { type Kamailio, PBX_PASSWORD, startPbx } from '#test/fakes/kamailio.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { type Linphone, startLinphone } from '#test/fakes/linphone.ts';
import { connectTestWorker } from '#test/fakes/signalling.ts';
import { tone } from '#test/fakes/tone.ts';
import { describeWhereThere } from '#test/needs.ts';
import { answeredCall, expectPhoneHeard, PHONE_HZ } from '../../../telephony/call-both-ways.ts';
import { insertNumber, sipOf } from '../../test-numbers.ts';
import { openRegistrationBench, REGISTRATIONS, type RegistrationBench } from './registration-bench.ts';

const PATIENCE_MS = 30_000;

describeWhereThere(['kamailio', 'linphonec'])('an account at a Kamailio', { timeout: 120_000 }, () => {
  let bench: RegistrationBench;
  let pbx: Kamailio;
  let phone: Linphone;
  let media: Awaited<ReturnType<typeof startMediaThread>>;
  let agentId: string;
  let numberId: string;

  const parts = () => ({
    clock: systemClock,
    media: media as LegFactory,
    sipHost: '127.0.0.1',
    sipPublicIp: undefined,
    random: Math.random,
    egress: bench.api.context.egress,
  });

  beforeEach(async () => {
    media = await startMediaThread({
      rtpPortMin: 23_080,
      rtpPortMax: 23_099,
      iceServers: [],
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
    });
    pbx = await startPbx();
    phone = await startLinphone('alice', pbx.address, tone(PHONE_HZ, 60_000));
    bench = await openRegistrationBench({
      admit: async (request) => (await admitCall(bench.api.context, request)).answer,
    });
    bench.api.dispatch.placement = { ...bench.api.dispatch.placement, sipTag: 'worker-1' };
    agentId = await bench.api.publishAgent(bench.user);
    numberId = await insertNumber(bench.api, bench.user, {
      provider: 'sip',
      is_proven: false,
      agent_id: agentId,
      sip: sipOf(),
    });
  });
  afterEach(async () => {
    await phone?.close();
    await bench?.close();
    await pbx?.close();
    await media.close();
  });

  const register = (more: Record<string, unknown> = {}) =>
    bench.register({
      registrar: pbx.address,
      username: 'ext204',
      password: PBX_PASSWORD,
      phone_number_id: numberId,
      ...more,
    });

  it('registers, with the interval that the registrar demands, and not with a wrong password', async () => {
    expect(await register({ expires_seconds: 60 })).toMatchObject({ state: 'registered', last_error: null });
    const wrong = { username: 'ext205', password: 'wrong', phone_number_id: null };
    expect(await register(wrong)).toMatchObject({ state: 'refused', last_error: { sip_status: 401 } });
  });

  it('is called by a phone of the PBX, and another worker takes the call over', async () => {
    await register();
    const incoming = answeredCall(bench.worker, parts());
    phone.dial(`sip:ext204@${pbx.address}`);
    const call = await incoming;
    await expectPhoneHeard(call.leg, new LegLog(call.leg));
    const second: Signalling = await connectTestWorker(bench.signalling, 'worker-2');
    const { dialog } = call;
    bench.worker.close();
    const taken = await failOverSipCall({ ...parts(), signalling: second }, dialog, {
      recording: null,
      isTenants: true,
    });
    if (taken.outcome !== 'answered') throw taken.error;
    const log = new LegLog(taken.leg);
    await expectPhoneHeard(taken.leg, log);
    phone.hangUp();
    expect((await log.next('closed', undefined, PATIENCE_MS)).reason).toBe('remote');
    second.close();
  });

  it('calls a phone of the PBX with its password', async () => {
    await register();
    const body = { agent_id: agentId, phone_number_id: numberId, to_number: '+12125550123' };
    const placed = await bench.api.request('POST', '/v1/agent/phone-calls', { key: bench.user.key, body });
    expect(placed.status).toBe(201);
    const { transport } = bench.api.dispatch.plans[0]!.plan;
    if (transport.type !== 'sip_outbound' || !transport.line) throw new Error('no line');
    const call = await dialOutboundCall(
      { ...parts(), signalling: bench.worker },
      {
        toUri: transport.to_uri,
        guard: transport.guard,
        fromNumber: transport.from_number,
        line: dialLine(transport.line),
        headers: transport.headers,
        credentials: { username: transport.username!, password: transport.password! },
        recording: null,
        ringMs: PATIENCE_MS,
      },
      new AbortController().signal,
    );
    if (call.outcome !== 'answered') throw new Error(call.outcome);
    await expectPhoneHeard(call.leg, new LegLog(call.leg));
    call.leg.send({ do: 'close' });
  });

  it('is unknown there once it was deleted', async () => {
    const { sip_registration_id: id } = await register();
    await bench.api.request('DELETE', `${REGISTRATIONS}/${id}`, { key: bench.user.key });
    await bench.settle();
    const calls: unknown[] = [];
    bench.worker.onInvite((invite) => {
      calls.push(invite);
      invite.refuse(486);
    });
    phone.dial(`sip:ext204@${pbx.address}`);
    await systemClock.sleep(2_000);
    expect(calls).toEqual([]);
  });
});
