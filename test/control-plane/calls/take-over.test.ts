import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ReportedDialog } from '#config/worker-link.ts';
import { loadSession } from '#control-plane/sessions/session-store.ts';
import { openTestCalls, type TestCalls } from '../test-calls.ts';

let api: TestCalls;
beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com:5080' });
});
afterAll(() => api.close());

/** A call of ours that was answered. */
async function answeredCall(): Promise<string> {
  const user = await api.createUser();
  const body = { provider: 'managed', phone_number: '+15550141000' };
  const number = await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
  const { phone_number_id } = number.body;
  const agent_id = await api.publishAgent(user);
  const placed = await api.request('POST', '/v1/agent/phone-calls', {
    key: user.key,
    body: { agent_id, phone_number_id, to_number: '+14155550123' },
  });
  const id: string = placed.body.session_id;
  await api.report(id, { type: 'dial', dial_status: 'answered', at: api.at(), sip_call_id: 'caller' });
  return id;
}

function dialogOf(sip_call_id: string): ReportedDialog {
  const [local, remote] = ['<sip:agent@example.com>;tag=l', `<sip:${sip_call_id}@example.com>;tag=r`];
  const sdp = { local_sdp: 'v=0', remote_sdp: 'v=0' };
  const party = { local_tag: 'l', remote_tag: 'r', local_party: local, remote_party: remote, local_contact: 'sip:agent@192.0.2.1' };
  return { sip_call_id, ...party, ...sdp, route_set: [], local_cseq: 1, remote_target: `sip:${sip_call_id}@192.0.2.2` };
}

/** What the successor is told when the call's worker dies. */
async function handedOver(): Promise<{ readonly caller: string | undefined; readonly person: unknown }> {
  await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
  const { dialog, person } = api.dispatch.plans.at(-1)?.handover ?? {};
  return { caller: dialog?.sip_call_id, person: person && [person.dialog.sip_call_id, person.is_joined] };
}

it('design §2 a phone call goes to another worker with its dialog, and with that of the person its caller is handed to, for as long as they are there', async () => {
  const id = await answeredCall();
  await api.report(id, { type: 'dialog', ...dialogOf('caller') });
  expect(await handedOver()).toEqual({ caller: 'caller', person: null });
  for (const is_joined of [false, true]) {
    await api.report(id, { type: 'person', person: { dialog: dialogOf('person'), is_joined } });
    expect(await handedOver()).toEqual({ caller: 'caller', person: ['person', is_joined] });
  }
  expect(JSON.stringify(await loadSession(api.context, id))).not.toContain('sip:person@192.0.2.2');
  await api.report(id, { type: 'person', person: null });
  expect(await handedOver()).toEqual({ caller: 'caller', person: null });
  expect((await loadSession(api.context, id))?.epoch).toBe(5);
});
