import { describe, expect, it } from 'vitest';
import type { FailoverState } from '#protocol/worker-link.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { replay } from '#runtime/replay/replay.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan, testTool } from '../test-plan.ts';
import { FIXED, setUp } from './test-call.ts';

describe('the recording and the flight log of a call', () => {
  it('segments are numbered over all legs of the call, and reported once at the end', async () => {
    const { openLeg, run, world, segments, reports } = setUp();
    const record = (leg: SimulatedLeg, segment: number) =>
      leg.emit({
        type: 'recording',
        track: 'user',
        segment,
        startMs: world.now(),
        rateHz: 1_000,
        samples: new Int16Array(500),
      });
    const first = openLeg('webrtc');
    record(first, 0);
    record(first, 1);
    await run(100);
    const second = openLeg('webrtc');
    record(second, 0);
    // The rest of the first leg's audio arrives after the change.
    record(first, 2);
    await run(100);
    second.close('remote');
    await run(1_000);
    expect(segments.map(({ segment }) => segment)).toEqual([0, 1, 2, 3]);
    expect(reports.filter(({ type }) => type === 'recording')).toMatchObject([
      { tracks: [{ role: 'user', segments: 4, rate_hz: 1_000 }] },
    ]);
    expect(reports.at(-1)?.type).toBe('ended');
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('record_audio %s stores %i segments', async (record_audio, kept) => {
    const { openLeg, run, world, segments, reports } = setUp(testPlan(FIXED, { record_audio }));
    const leg = openLeg();
    leg.emit({
      type: 'recording',
      track: 'user',
      segment: 0,
      startMs: world.now(),
      rateHz: 1_000,
      samples: new Int16Array(500),
    });
    leg.close('remote');
    await run(1_000);
    expect(segments).toHaveLength(kept);
    expect(reports.filter(({ type }) => type === 'recording')).toHaveLength(kept);
  });

  it('a flight log is saved every few seconds; a torn last line is dropped, another format refused', async () => {
    const { openLeg, run, flightLog } = setUp();
    openLeg();
    await run(5_100);
    expect(flightLog).toHaveLength(1);
    const [whole] = readFlightLog(flightLog);
    expect(whole.header).toMatchObject({ session_id: 's1', config: { greeting: { mode: 'say' } } });
    expect(readFlightLog([...flightLog, Buffer.from('{"type":"voice.sta')])[0].inputs).toEqual(whole.inputs);
    const text = Buffer.concat(flightLog).toString();
    expect(() =>
      readFlightLog([Buffer.from(text.replace(/"flight_log_version":\d+/, '"flight_log_version":0'))]),
    ).toThrow(/flight_log_version/);
  });

  it('a call after a failover has one log part per worker, even if the lost one’s last line is torn', async () => {
    const lost = setUp();
    lost.openLeg();
    await lost.run(5_100);
    const failoverState = {
      items: [],
      was_cut_off: false,
      elapsed_ms: 5_100,
      lost_at: '2026-01-01T00:00:05.000Z',
      dialog: null,
      person: null,
    };
    const successor = setUp(testPlan(FIXED), null, null, failoverState);
    successor.openLeg();
    await successor.run(5_100);
    const torn = Buffer.from('{"type":"voice.sta');
    const alone = [readFlightLog(lost.flightLog), readFlightLog(successor.flightLog)];
    expect(alone.map((parts) => parts.length)).toEqual([1, 1]);
    expect(readFlightLog([...lost.flightLog, ...successor.flightLog])).toEqual(alone.flat());
    expect(readFlightLog([...lost.flightLog, torn, ...successor.flightLog])).toEqual(alone.flat());
    for (const part of alone.flat())
      expect([...replay(part, CURRENT_MACHINE)]).toHaveLength(part.inputs.length);
  });

  it('security 20: after a failover the model does not see a failure that its tool hides', async () => {
    const about = {
      call_id: 'c1',
      tool_name: 'look_up',
      tool_source: 'webhook',
      turn_id: 1,
      created_at: '2026-01-01T00:00:00.000Z',
    };
    const items: FailoverState['items'] = [
      { type: 'tool_call', input: '{}', ...about },
      {
        type: 'tool_result',
        status: 'failed',
        output: 'planted',
        output_truncated: false,
        error: 'planted',
        latency_ms: 1,
        ...about,
      },
    ];
    const failoverState = {
      items,
      was_cut_off: false,
      elapsed_ms: 5_100,
      lost_at: '2026-01-01T00:00:05.000Z',
      dialog: null,
      person: null,
    };
    const plan = testPlan(FIXED);
    const successor = setUp(
      { ...plan, tools: [testTool({ function_name: 'look_up', error_handling: 'hide' })] },
      null,
      null,
      failoverState,
    );
    successor.openLeg();
    await successor.run(5_100);
    const [log] = readFlightLog(successor.flightLog);
    expect(JSON.stringify(log.header.config)).toContain('The tool failed.');
    expect(JSON.stringify(log.header.config)).not.toContain('planted');
  });

  it('why nothing of the caller is heard is reported while the call runs', async () => {
    const phone = setUp();
    const leg = phone.openLeg();
    await phone.run(3_000);
    const unheard = { expectedAddress: '192.0.2.7', refusedAddresses: ['127.0.0.1'], unreadablePackets: 0 };
    leg.emit({
      type: 'media',
      atMs: phone.world.now(),
      stats: { packetsReceived: 0, packetsLost: 0, packetsSent: 150, jitterMs: 0, unheard },
    });
    await phone.run(10);
    expect(phone.reports.find(({ type }) => type === 'media')).toMatchObject({
      quality: {
        packets_sent: 150,
        unheard: { expected_address: '192.0.2.7', refused_addresses: ['127.0.0.1'] },
      },
    });
    expect(phone.reports.map(({ type }) => type)).not.toContain('ended');
  });

  it('media statistics are reported for a phone call after its leg closes, never for a browser', async () => {
    const phone = setUp();
    phone.openLeg().close('remote');
    await phone.run(1_000);
    const quality = {
      packets_received: 0,
      packets_lost: 0,
      packets_sent: 0,
      jitter_ms: 0,
      round_trip_ms: null,
      mos: null,
    };
    expect(phone.reports.slice(-2)).toMatchObject([{ type: 'media', quality }, { type: 'ended' }]);
    const browser = setUp();
    browser.openLeg('webrtc').close('remote');
    await browser.run(1_000);
    expect(browser.reports.map(({ type }) => type)).not.toContain('media');
  });
});
