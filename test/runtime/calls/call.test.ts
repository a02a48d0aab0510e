import { describe, expect, it, vi } from 'vitest';
import { testPlan } from '../test-plan.ts';
import { FIXED, setUp } from './test-call.ts';

describe('a call', () => {
  it('is joined when its leg connects, greets with variables filled, and reports its end last', async () => {
    const { call, openLeg, run, reports, messages, clock } = setUp();
    const leg = openLeg();
    await run(3_000);
    leg.close('remote');
    await run(100);
    expect(await call.ended).toBe('user_hangup');
    expect(messages()).toEqual(['assistant: Hello Ann, how are you?']);
    expect(reports.map(({ type }) => type)).toEqual(['joined', 'items', 'media', 'ended']);
    expect(clock.pending()).toBe(0);
  });

  it('that was handed over falls silent at once, and ends when its recording has come', async () => {
    const { call, openLeg, run, reports } = setUp();
    const leg = openLeg();
    await run(1_000);
    const send = vi.spyOn(leg, 'send');
    call.abandon('handed_over');
    expect(send.mock.calls.map(([command]) => command)).toEqual([
      { do: 'clear' },
      { do: 'holdMusic', isOn: false },
      { do: 'close', keepsDialog: true, lingerMs: 300 },
    ]);
    const ended = vi.fn();
    void call.ended.then(ended);
    await run(1_000);
    expect(ended).not.toHaveBeenCalled();
    await run(2_000);
    expect(ended).toHaveBeenCalled();
    expect(reports.map(({ type }) => type)).toEqual(['joined']);
  });

  it('that was handed over gives up its stream also to a successor that asks after its leg has closed', async () => {
    const { call, openLeg, run, world } = setUp();
    const leg = openLeg();
    await run(1_000);
    call.abandon('with_stream');
    const numbers = { ssrc: 1, cname: 'c', sequence: 2, timestamp: 3, packets: 4, bytes: 5 };
    const rest = { ...numbers, clockHz: 8_000, dueMs: world.now() };
    leg.emit({ type: 'stream.released', atMs: world.now(), rest });
    leg.close('local');
    await run(1_000);
    expect(await call.left.releaseStream()).toEqual(rest);
  });

  it('that was handed over sends silence for longer if its stream is asked for, until it has given that up', async () => {
    const { call, openLeg, run, world } = setUp();
    const leg = openLeg();
    await run(1_000);
    const send = vi.spyOn(leg, 'send');
    call.abandon('with_stream');
    expect(send.mock.calls.at(-1)).toEqual([{ do: 'close', keepsDialog: true, lingerMs: 2_000 }]);
    const released = call.left.releaseStream();
    expect(send.mock.calls.at(-1)).toEqual([{ do: 'releaseStream' }]);
    const numbers = { ssrc: 1, cname: 'c', sequence: 2, timestamp: 3, packets: 4, bytes: 5 };
    const rest = { ...numbers, clockHz: 8_000, dueMs: world.now() + 40 };
    leg.emit({ type: 'stream.released', atMs: world.now(), rest });
    await run(100);
    expect(await released).toEqual(rest);
    const ended = vi.fn();
    void call.ended.then(ended);
    leg.close('local');
    await run(2_100);
    expect(ended).toHaveBeenCalled();
  });

  it('that was handed over stays in its room until the successor comes, and waits no longer than for that', async () => {
    const { call, openLeg, run } = setUp();
    const leg = openLeg('livekit');
    await run(1_000);
    const send = vi.spyOn(leg, 'send').mockReturnValue();
    call.abandon('with_stream');
    expect(send.mock.calls.at(-1)).toEqual([{ do: 'close', keepsDialog: true, lingerMs: 5_000 }]);
    const [ended, released] = [vi.fn(), vi.fn()];
    void call.ended.then(ended);
    void call.left.released().then(released);
    await run(1_000);
    expect(released).not.toHaveBeenCalled();
    // The successor has put it out.
    leg.close('failed');
    await run(1_000);
    expect(released).toHaveBeenCalled();
    expect(ended).not.toHaveBeenCalled();
    await run(2_000);
    expect(ended).toHaveBeenCalled();
  });

  it('that another worker has does not hang up on a caller who reaches it late', async () => {
    const { call, openLeg, run } = setUp();
    openLeg();
    await run(1_000);
    call.abandon();
    const late = openLeg();
    const send = vi.spyOn(late, 'send');
    call.attach(late);
    call.rejoin(late);
    const close = { do: 'close', keepsDialog: true, lingerMs: 0 };
    expect(send.mock.calls.flat().filter(({ do: what }) => what === 'close')).toEqual([close, close]);
  });

  it('that was handed over tells a browser to connect anew before it leaves', async () => {
    const { call, openLeg, run } = setUp();
    const leg = openLeg('webrtc');
    await run(1_000);
    const send = vi.spyOn(leg, 'send');
    call.abandon('handed_over');
    expect(send.mock.calls.map(([command]) => command)).toMatchObject([
      { do: 'sendMessage', json: '{"type":"session.moved"}' },
      { do: 'clear' },
      { do: 'holdMusic' },
      { do: 'close', keepsDialog: true },
    ]);
  });

  it('marks fixed texts as cacheable, but not texts with the caller’s name or from the model', async () => {
    const outreach = {
      disclosure: 'This is Ann’s bakery, calling by machine.',
      opt_out: { key: '9', phrases: [], confirmation: 'Goodbye then.' },
    };
    const { call, openLeg, run, world, asked } = setUp({
      ...testPlan({ prompt: { first_message_mode: 'fixed', first_message: 'How are you?' } }),
      outreach,
    });
    const leg = openLeg();
    await run(5_000);
    leg.emit({
      type: 'message',
      atMs: world.now(),
      text: JSON.stringify({ type: 'user.message', text: 'hi', audio: true }),
    });
    await run(3_000);
    leg.emit({ type: 'digit', atMs: world.now(), digit: '9', durationMs: 100, source: 'rfc4733' });
    await run(3_000);
    await call.ended;
    expect(asked.filter(({ isFixed }) => isFixed).map(({ text }) => text)).toEqual([
      ...outreach.disclosure.split(/(?<=,) /),
      'How are you?',
      'Goodbye then.',
    ]);
    expect(asked.filter(({ isFixed }) => !isFixed).map(({ text }) => text)).toEqual(['Fine, thank you.']);
    const named = setUp({
      ...testPlan({ prompt: { first_message_mode: 'fixed', first_message: 'Hello {{name}}. How are you?' } }),
      outreach,
    });
    named.openLeg();
    await named.run(5_000);
    expect(named.asked.some(({ isFixed }) => isFixed)).toBe(false);
  });

  it('says the disclosure first, and confirms and reports an opt-out before the end', async () => {
    const optOut = { key: '9', phrases: [], confirmation: 'Goodbye then.' };
    const plan = testPlan(FIXED, { outreach: { disclosure: 'This is {{name}}.', opt_out: optOut } });
    const { call, openLeg, run, reports, messages, world } = setUp(plan);
    const leg = openLeg();
    await run(3_000);
    leg.emit({ type: 'digit', atMs: world.now(), digit: '9', durationMs: 100, source: 'rfc4733' });
    await run(3_000);
    expect(await call.ended).toBe('agent_hangup');
    expect(messages()).toEqual([
      'assistant: This is Ann. Hello Ann, how are you?',
      'user: Keypad entry: 9',
      'assistant: Goodbye then.',
    ]);
    expect(reports.filter(({ type }) => type === 'opt_out' || type === 'ended')).toEqual([
      { type: 'opt_out', by: 'key' },
      expect.objectContaining({ type: 'ended', end_reason: 'agent_hangup' }),
    ]);
  });

  it('records only complete words heard by a caller who hangs up in the middle of a word', async () => {
    const { openLeg, run, messages } = setUp();
    const leg = openLeg();
    await run(510);
    leg.close('remote');
    await run(100);
    expect(messages()).toEqual([`assistant: ${leg.played[0]?.words.join(' ')}`]);
    expect(leg.played[0]?.words).toHaveLength(2);
  });

  it('reports no join when ended before anyone joined, and the reason as given', async () => {
    const { call, reports } = setUp();
    call.end('room_join_timeout');
    call.end('cancelled');
    expect(await call.ended).toBe('room_join_timeout');
    expect(reports.map(({ type }) => type)).toEqual(['ended']);
  });

  it('cuts the reply, says the goodbye and closes the leg when it is ended externally with a goodbye', async () => {
    const { call, openLeg, run, messages } = setUp();
    const leg = openLeg();
    await run(510);
    call.end('internal_error', { sayGoodbye: true });
    await run(3_000);
    expect(await call.ended).toBe('internal_error');
    expect(messages()).toEqual(['assistant: Hello Ann,', 'assistant: Goodbye.']);
    expect(leg.messages.at(-1)).toEqual({ type: 'session.ended', reason: 'internal_error' });
  });

  it('shows a written answer without speaking it', async () => {
    const { openLeg, run, world, messages, requests } = setUp();
    const leg = openLeg('webrtc');
    await run(3_000);
    leg.emit({
      type: 'message',
      atMs: world.now(),
      text: '{"type":"user.message","text":"how are you","audio":false}',
    });
    await run(500);
    expect(leg.played).toHaveLength(1);
    expect(messages().slice(1)).toEqual(['user: how are you', 'assistant: Fine, thank you.']);
    expect(leg.messages).toContainEqual({
      type: 'transcript',
      role: 'agent',
      segmentId: 'r2',
      text: 'Fine, thank you.',
      final: true,
    });
    expect(requests[0]).toMatchObject({ speculative: false, sessionId: 's1' });
  });

  it('sends captions in step with the playout, ending with the spoken words', async () => {
    const { openLeg, run } = setUp();
    const leg = openLeg('webrtc');
    await run(3_000);
    const captions = leg.messages
      .filter((message) => message['type'] === 'transcript')
      .map((message) => [message['text'], message['final']]);
    expect(captions.slice(0, 2)).toEqual([
      ['Hello', false],
      ['Hello Ann,', false],
    ]);
    expect(captions.at(-1)).toEqual(['Hello Ann, how are you?', true]);
  });

  it('puts retrieved knowledge after the stable prompt, and its sources on the timeline', async () => {
    const asked: string[] = [];
    const passages = [{ knowledge_source_id: 'k1', name: 'Hours', chunk: 4, text: 'Open until ten.' }];
    const { openLeg, run, world, reports, requests } = setUp(testPlan(FIXED), {
      search: async (query) => {
        asked.push(query);
        return passages;
      },
      close: () => undefined,
    });
    const leg = openLeg('webrtc');
    await run(3_000);
    leg.emit({
      type: 'message',
      atMs: world.now(),
      text: '{"type":"user.message","text":"how long are you open"}',
    });
    await run(3_000);
    expect(asked).toEqual(['how long are you open']);
    expect(requests[0]?.messages[1]?.content).toMatch(/# Hours\nOpen until ten\.$/);
    const items = reports.flatMap((report) => (report.type === 'items' ? report.items : []));
    expect(items.slice(1, 3)).toMatchObject([
      { type: 'message', role: 'user', turn_id: 1 },
      {
        type: 'knowledge_retrieval',
        status: 'completed',
        turn_id: 1,
        citations: [{ knowledge_source_id: 'k1', name: 'Hours', chunk: 4 }],
      },
    ]);
  });

  it('reports the tokens of each model run', async () => {
    const { openLeg, run, world, reports } = setUp();
    const leg = openLeg();
    leg.emit({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"hi"}' });
    await run(5_000);
    expect(reports).toContainEqual({
      type: 'usage',
      turn_id: 1,
      model: 'test/model',
      input_tokens: 7,
      cached_input_tokens: null,
      output_tokens: 4,
      discarded_output_tokens: 0,
    });
  });
});

describe('a call of a browser that reconnects', () => {
  it('takes over: the first leg’s playout is on record, and the conversation continues', async () => {
    const { openLeg, run, world, messages } = setUp();
    const first = openLeg('webrtc');
    await run(510);
    first.close('failed');
    await run(1_000);
    const second = openLeg('webrtc');
    second.emit({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"back again"}' });
    await run(3_000);
    expect(messages()).toEqual(['assistant: Hello Ann,', 'user: back again', 'assistant: Fine, thank you.']);
    expect(second.played.map(({ words }) => words.join(' ')).filter((words) => words !== '')).toEqual([
      'Fine, thank you.',
    ]);
  });

  it('hears the agent resume the interrupted reply without asking', async () => {
    const { openLeg, run, requests, messages } = setUp();
    const first = openLeg('webrtc');
    await run(510);
    first.close('failed');
    await run(6_000);
    const second = openLeg('webrtc');
    await run(3_000);
    expect(requests.map(({ messages: asked }) => asked.at(-1)?.content)).toEqual([
      expect.stringContaining('connection broke off'),
    ]);
    expect(messages()).toEqual(['assistant: Hello Ann,', 'assistant: Fine, thank you.']);
    expect(second.played.map(({ words }) => words.join(' '))).toEqual(['Fine, thank you.']);
  });

  it('gets an answer to what the caller said before the disconnect', async () => {
    const { openLeg, run, world, messages } = setUp();
    const first = openLeg('webrtc');
    await run(3_000);
    first.emit({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"how are you"}' });
    await run(20);
    first.close('failed');
    // Longer than any step of a call with a leg may take.
    await run(12_000);
    const second = openLeg('webrtc');
    await run(3_000);
    expect(messages().slice(1)).toEqual(['user: how are you', 'assistant: Fine, thank you.']);
    expect(second.played.map(({ words }) => words.join(' '))).toEqual(['Fine, thank you.']);
  });

  it('has 15 s to return; otherwise the call ends at the time of the disconnect', async () => {
    const { call, openLeg, run, reports, world } = setUp();
    const leg = openLeg('webrtc');
    await run(3_000);
    leg.close('failed');
    const lostAt = new Date(world.wallTime()).toISOString();
    await run(14_900);
    expect(reports.map(({ type }) => type)).not.toContain('ended');
    await run(200);
    expect(await call.ended).toBe('user_hangup');
    // The wait is not billed.
    expect(reports.at(-1)).toMatchObject({ type: 'ended', at: lostAt });
  });

  it('that ends while its caller is away ended when they left', async () => {
    const { call, openLeg, run, reports, world } = setUp();
    const leg = openLeg();
    await run(3_000);
    const leftAt = new Date(world.wallTime()).toISOString();
    leg.emit({ type: 'away', atMs: world.now() });
    await run(5_000);
    call.end('user_hangup');
    await run(3_000);
    expect(reports.at(-1)).toMatchObject({ type: 'ended', at: leftAt, end_reason: 'user_hangup' });
  });

  it('whose caller came back ends when it ends', async () => {
    const { call, openLeg, run, reports, world } = setUp();
    const leg = openLeg();
    await run(3_000);
    leg.emit({ type: 'away', atMs: world.now() });
    await run(5_000);
    leg.emit({ type: 'back', atMs: world.now() });
    await run(1_000);
    const beforeEnd = new Date(world.wallTime()).toISOString();
    call.end('user_hangup');
    await run(3_000);
    const ended = reports.find((report) => report.type === 'ended');
    expect([beforeEnd, ended?.at].sort()).toEqual([beforeEnd, ended?.at]);
  });
});
