import { describe, expect, it } from 'vitest';
import type { RecognitionEvent, Recognizer } from '#media/speech/speech.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { Participants } from '#runtime/calls/participants.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { createSpokenWords, SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan } from '../test-plan.ts';

/**
 * A running call with a caller, an agent who yields unless `yields` is false, and a recogniser that emits the
 * test's words.
 */
function setUp() {
  const world = new SimulatedClock();
  const words = createSpokenWords();
  const openLeg = () => new SimulatedLeg({ clock: world, words, latencyMs: 1, kind: 'webrtc' });
  const caller = openLeg();
  const items: SessionItem[] = [];
  const orders: string[] = [];
  const agent = { yields: true };
  const ears: ((event: RecognitionEvent) => void)[] = [];
  const recognizer = {
    id: 'test',
    open: ({ onEvent }: { onEvent: (event: RecognitionEvent) => void }) => {
      ears.push(onEvent);
      return { write: () => undefined, finalise: () => undefined, close: () => undefined };
    },
  } as unknown as Recognizer;
  const participants = new Participants({
    plan: testPlan(),
    clock: world.forCall(),
    recognizer,
    caller: () => caller,
    startTakeover: () => {
      orders.push('take over');
      return agent.yields;
    },
    endTakeover: () => orders.push('hand back'),
    said: (text) => orders.push(`said ${text}`),
    record: (item) => items.push(item),
    onRecording: () => undefined,
  });
  const run = () => world.run(() => false, world.now() + 100);
  const join = async (id: string, mode: 'listen' | 'take_over' = 'listen') => {
    const leg = openLeg();
    participants.join({ id, name: null, mode }, leg);
    leg.connect();
    await run();
    return leg;
  };
  /** The caller's leg relays one slot: 1 is the caller's voice, 2 the audio sent to the caller. */
  const slot = async () => {
    participants.onRelayed({ type: 'relayed', voice: Int16Array.of(1), sent: Int16Array.of(2) });
    await run();
  };
  const events = () =>
    items.flatMap((item) => (item.type === 'participant' ? [`${item.participant_id} ${item.event}`] : []));
  return { world, caller, participants, run, join, slot, events, orders, agent, ears, openLeg };
}

const mixed = (leg: SimulatedLeg) => leg.mixed.map(({ source, sample }) => `${source} ${sample}`);
const mode = (leg: SimulatedLeg) =>
  leg.messages.filter(({ type }) => type === 'participant.mode').at(-1)?.['mode'];

describe('colleagues in a call', () => {
  it('receive their mode again when they request it again, with no other effect', async () => {
    const { participants, join, run, events, orders } = setUp();
    const leg = await join('ann', 'take_over');
    const writings = () =>
      leg.messages.filter(({ type }) => type === 'participant.mode').map((message) => message['mode']);
    participants.change('ann', 'take_over');
    await run();
    expect(writings()).toEqual(['take_over', 'take_over']);
    participants.change('ann', 'listen');
    participants.change('ann', 'listen');
    await run();
    expect(writings()).toEqual(['take_over', 'take_over', 'listen', 'listen']);
    expect(events()).toEqual(['ann joined', 'ann took_over', 'ann handed_back']);
    expect(orders).toEqual(['take over', 'hand back']);
  });

  it('hear both sides without being heard', async () => {
    const { caller, events, join, slot, orders, run } = setUp();
    const ann = await join('ann');
    expect([caller.isRelaying, mode(ann)]).toEqual([true, 'listen']);
    await slot();
    expect(mixed(ann)).toEqual(['caller 1', 'caller.sent 2']);
    ann.emit({ type: 'relayed', voice: Int16Array.of(3), sent: Int16Array.of(4) });
    await run();
    expect(mixed(caller)).toEqual([]);
    expect(orders).toEqual([]);
    ann.close('remote');
    await run();
    expect(events()).toEqual(['ann joined', 'ann left']);
    expect(caller.isRelaying).toBe(false);
  });

  it('can take over one at a time, hearing only the caller; the others hear both', async () => {
    const { caller, events, join, participants, slot, orders, run } = setUp();
    const [ann, bob] = [await join('ann'), await join('bob')];
    expect(participants.change('ann', 'take_over')).toBeNull();
    await run();
    expect([ann.isRelaying, mode(ann), mode(bob)]).toEqual([true, 'take_over', 'listen']);
    await slot();
    expect([mixed(ann), mixed(bob)]).toEqual([['caller 1'], ['caller 1', 'caller.sent 2']]);
    ann.emit({ type: 'relayed', voice: Int16Array.of(3), sent: Int16Array.of(4) });
    await run();
    expect(mixed(caller)).toEqual(['colleague 3']);
    expect(participants.change('bob', 'take_over')).toBe('call_taken');
    expect(participants.change('ann', 'listen')).toBeNull();
    await run();
    expect([ann.isRelaying, mode(ann), orders]).toEqual([false, 'listen', ['take over', 'hand back']]);
    expect(events()).toEqual(['ann joined', 'bob joined', 'ann took_over', 'ann handed_back']);
  });

  it('return the call when they leave or lose their connection during a takeover', async () => {
    const { events, join, participants, orders, run } = setUp();
    const ann = await join('ann', 'take_over');
    ann.close('failed');
    await run();
    expect([orders, events()]).toEqual([
      ['take over', 'hand back'],
      ['ann joined', 'ann took_over', 'ann left'],
    ]);
    expect(participants.isEmpty).toBe(true);
    const bob = await join('bob', 'take_over');
    bob.emit({ type: 'message', atMs: 0, text: '{"type":"user.hangup"}' });
    await run();
    expect(orders).toEqual(['take over', 'hand back', 'take over', 'hand back']);
  });

  it('keep the call when they reconnect', async () => {
    const { caller, events, openLeg, join, participants, orders, run } = setUp();
    const first = await join('ann', 'take_over');
    const second = openLeg();
    participants.join({ id: 'ann', name: null, mode: 'take_over' }, second);
    second.connect();
    await run();
    first.emit({ type: 'relayed', voice: Int16Array.of(8), sent: Int16Array.of(9) });
    second.emit({ type: 'relayed', voice: Int16Array.of(3), sent: Int16Array.of(4) });
    await run();
    expect(mixed(caller)).toEqual(['colleague 3']);
    expect([mode(second), second.isRelaying, orders, events()]).toEqual([
      'take_over',
      true,
      ['take over'],
      ['ann joined', 'ann took_over'],
    ]);
  });

  it('are on record while they talk to the caller; listeners are not even recognised', async () => {
    const { ears, join, participants, orders } = setUp();
    await join('ann');
    expect(ears).toHaveLength(0);
    participants.change('ann', 'take_over');
    ears[0]?.({ type: 'final', text: ' I can help. ', language: null } as RecognitionEvent);
    participants.change('ann', 'listen');
    ears[0]?.({ type: 'final', text: 'late', language: null } as RecognitionEvent);
    expect(orders).toEqual(['take over', 'said I can help.', 'hand back']);
  });

  it('cannot take over if the agent cannot leave or they are not connected, nor join a full call', async () => {
    const { agent, join, openLeg, participants } = setUp();
    agent.yields = false;
    const ann = await join('ann', 'take_over');
    expect([mode(ann), participants.change('ann', 'take_over')]).toEqual(['listen', 'call_not_takeable']);
    participants.join({ id: 'bob', name: null, mode: 'listen' }, openLeg());
    expect([participants.change('bob', 'take_over'), participants.change('eve', 'listen')]).toEqual([
      'not_found',
      'not_found',
    ]);
    for (let n = 0; n < 6; n++) participants.join({ id: String(n), name: null, mode: 'listen' }, openLeg());
    expect([participants.refusal('eve'), participants.refusal('ann')]).toEqual(['participants_full', null]);
  });

  it('are not awaited if they never connect', async () => {
    const { openLeg, participants, world, events } = setUp();
    participants.join({ id: 'ann', name: null, mode: 'listen' }, openLeg());
    await world.run(() => false, world.now() + 61_000);
    expect([participants.isEmpty, events()]).toEqual([true, []]);
  });

  it('are notified of the end of the call, and disconnected', async () => {
    const { join, openLeg, participants, run } = setUp();
    const ann = await join('ann', 'take_over');
    const gone = participants.close({ type: 'session.ended', reason: 'user_hangup' });
    await run();
    await gone;
    expect(ann.messages.at(-1)).toEqual({ type: 'session.ended', reason: 'user_hangup' });
    const late = openLeg();
    participants.join({ id: 'bob', name: null, mode: 'listen' }, late);
    await run();
    expect(participants.isEmpty).toBe(true);
  });
});
