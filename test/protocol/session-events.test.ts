import { describe, expect, it } from 'vitest';
import { parseClientEvent } from '#protocol/session-events.ts';

describe('client messages', () => {
  it.each([
    { type: 'user.message', text: 'hello' },
    { type: 'user.message', text: 'hello', audio: false },
    { type: 'user.activity' },
    { type: 'user.interrupt' },
    { type: 'user.hangup' },
    { type: 'client_tool.result', callId: 'c1', result: { shown: true } },
    { type: 'client_tool.result', callId: 'c1', isError: true },
    { type: 'client_tool.result', callId: 'c1', result: 1, isError: false },
    { type: 'client_tool.result', callId: 'c1' },
  ])('include %j unchanged', (event) => {
    expect(parseClientEvent(JSON.stringify(event))).toEqual(event);
  });

  it('lose unknown fields without being rejected', () => {
    expect(parseClientEvent('{"type":"user.activity","since":3}')).toEqual({ type: 'user.activity' });
  });

  it.each([
    '',
    'nonsense',
    '[]',
    'null',
    '{"type":"user.sang"}',
    '{"type":"user.message"}',
    '{"type":"user.message","text":""}',
    '{"type":"client_tool.result"}',
  ])('do not include %j', (text) => {
    expect(parseClientEvent(text)).toBeNull();
  });
});
