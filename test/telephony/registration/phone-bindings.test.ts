/** The registrar's rules for the bindings of a phone (RFC 3261 §10.3, RFC 3327, RFC 5626). */
import { describe, expect, it } from 'vitest';
import {
  contactValues,
  MAX_BINDINGS,
  type PhoneBinding,
  placesToRing,
  registerPhone,
} from '#telephony/registration/phone-bindings.ts';
import { readRegister } from '#telephony/registration/register-request.ts';

const NOW = 1_000_000;
const HOME = { address: '192.0.2.7', port: 5_062, transport: 'udp', server: 'one:9022' } as const;

/** A REGISTER with these lines. */
function register(lines: Readonly<Record<string, string>>, cseq = 1) {
  const headers = { to: '<sip:204@parley.example>', 'call-id': 'c1', cseq: `${cseq} REGISTER`, ...lines };
  return readRegister(Object.entries(headers).map(([name, value]) => ({ name, value })));
}

function apply(
  before: readonly PhoneBinding[],
  lines: Readonly<Record<string, string>>,
  { cseq = 1, source = HOME as Parameters<typeof registerPhone>[2], nowMs = NOW } = {},
) {
  const request = register(lines, cseq);
  if (!request) throw new Error('malformed');
  return registerPhone(before, request, source, nowMs);
}

function bindingsAfter(...of: Parameters<typeof apply>): readonly PhoneBinding[] {
  const outcome = apply(...of);
  if (outcome.is !== 'done') throw new Error(outcome.is);
  return outcome.bindings;
}

const one = { contact: '<sip:204@192.0.2.7:5062>;expires=300' };

describe('a REGISTER', () => {
  it('binds its Contact for the time it asks for', () => {
    const bindings = bindingsAfter([], one);
    expect(bindings).toMatchObject([{ contact: 'sip:204@192.0.2.7:5062', untilMs: NOW + 300_000 }]);
    expect(contactValues(bindings, NOW + 100_000)).toEqual(['<sip:204@192.0.2.7:5062>;expires=200']);
  });

  it('takes the time of the header Expires, or else ten minutes, and an hour at most', () => {
    const until = (lines: Record<string, string>) => bindingsAfter([], lines)[0]?.untilMs;
    expect(until({ contact: '<sip:204@192.0.2.7>', expires: '90' })).toBe(NOW + 90_000);
    expect(until({ contact: '<sip:204@192.0.2.7>', expires: 'soon' })).toBe(NOW + 600_000);
    expect(until({ contact: '<sip:204@192.0.2.7>;expires=86400' })).toBe(NOW + 3_600_000);
  });

  it('renews a binding and changes nothing else', () => {
    const two = bindingsAfter(bindingsAfter([], one), { contact: '<sip:204@192.0.2.7:5070>' }, { cseq: 2 });
    const renewed = bindingsAfter(two, one, { cseq: 3, nowMs: NOW + 60_000 });
    expect(renewed.map(({ contact }) => contact)).toEqual([
      'sip:204@192.0.2.7:5070',
      'sip:204@192.0.2.7:5062',
    ]);
  });

  it('removes the binding that it names with an interval of 0, and with * all', () => {
    const two = bindingsAfter([], { contact: '<sip:204@192.0.2.7:5062>, <sip:204@192.0.2.7:5070>' });
    expect(bindingsAfter(two, { contact: '<sip:204@192.0.2.7:5062>;expires=0' }, { cseq: 2 })).toHaveLength(
      1,
    );
    expect(bindingsAfter(two, { contact: '*', expires: '0' }, { cseq: 2 })).toEqual([]);
  });

  it('without a Contact only asks', () => {
    expect(apply(bindingsAfter([], one), {})).toMatchObject({ hasChanged: false, bindings: [{}] });
  });

  it('that wants less than a minute is told the least, and changes nothing (423)', () => {
    const contact = '<sip:204@192.0.2.7:5062>;expires=20';
    expect(apply([], { contact })).toEqual({ is: 'too_brief', minSeconds: 60 });
  });

  it('that comes after a later one of the same registration changes nothing', () => {
    const bindings = bindingsAfter([], one, { cseq: 7 });
    expect(apply(bindings, { contact: '<sip:204@192.0.2.7:5062>;expires=0' }, { cseq: 6 })).toEqual({
      is: 'out_of_order',
    });
  });

  it.each([
    { contact: '*', expires: '60' },
    { contact: '*' },
    { contact: '<tel:+49301>' },
    { contact: '<sip:204@192.0.2.7 Route: x>' },
    { contact: Array.from({ length: 9 }, (_, at) => `<sip:204@192.0.2.7:${5_000 + at}>`).join(', ') },
    { contact: '<sip:204@192.0.2.7>', cseq: '1 INVITE' },
    { contact: '<sip:204@192.0.2.7>', path: '<sip:edge.example;lr>\r\nX: y' },
  ])('is malformed with %j', (lines) => {
    expect(register(lines as Record<string, string>)).toBeNull();
  });
});

describe('a phone', () => {
  it('is called where its REGISTER came from, whatever its Contact says', () => {
    const [binding] = bindingsAfter([], { contact: '<sip:204@10.0.0.5:22;transport=tcp>' });
    expect(binding?.nextHop).toBe('sip:192.0.2.7:5062;transport=udp');
  });

  it('is called at the port that it listens on if no NAT is in between', () => {
    const [binding] = bindingsAfter([], { contact: '<sip:204@192.0.2.7:5070>' });
    expect(binding?.nextHop).toBe('sip:192.0.2.7:5070;transport=udp');
  });

  it('is called over the connection of its REGISTER', () => {
    const source = { ...HOME, port: 49_152, transport: 'tcp' } as const;
    const [binding] = bindingsAfter([], { contact: '<sip:204@192.0.2.7:5060;transport=tcp>' }, { source });
    expect(binding?.nextHop).toBe('sip:192.0.2.7:49152;transport=tcp');
  });

  it('behind a NAT over UDP renews its binding before the NAT forgets it', () => {
    const [binding] = bindingsAfter([], { contact: '<sip:204@10.0.0.5>;expires=3600' });
    expect(binding?.untilMs).toBe(NOW + 90_000);
  });

  it('that starts again replaces its old binding by its instance (RFC 5626)', () => {
    const instance = ';+sip.instance="<urn:uuid:0c67446e-f1a1-11d9-94d3-000a95a0e128>"';
    const before = bindingsAfter([], { contact: `<sip:204-x@192.0.2.7:5062>${instance}` });
    const after = bindingsAfter(
      before,
      { contact: `<sip:204-y@192.0.2.7:5099>${instance}`, 'call-id': 'c2' },
      { cseq: 1 },
    );
    expect(after.map(({ contact }) => contact)).toEqual(['sip:204-y@192.0.2.7:5099']);
  });

  it('with two connections has two bindings, and is rung over the last renewed one', () => {
    const over = (id: number) => `<sip:204@192.0.2.7:506${id}>;reg-id=${id};+sip.instance="<urn:uuid:1>"`;
    const both = bindingsAfter(bindingsAfter([], { contact: over(1) }), { contact: over(2) }, { cseq: 2 });
    expect(both).toHaveLength(2);
    expect(placesToRing(both, NOW).map(({ contact }) => contact)).toEqual(['sip:204@192.0.2.7:5062']);
  });

  it('is not mixed up with one at another home that has the same private address', () => {
    const contact = '<sip:204@192.168.1.10:5060>';
    const other = { ...HOME, address: '198.51.100.4' };
    const both = bindingsAfter(
      bindingsAfter([], { contact }),
      { contact, 'call-id': 'c2' },
      { source: other },
    );
    expect(placesToRing(both, NOW)).toHaveLength(2);
  });

  it('behind an edge proxy is called along its Path (RFC 3327)', () => {
    const path = '<sip:edge.example;lr>';
    expect(bindingsAfter([], { ...one, path })[0]?.path).toEqual([path]);
  });

  it('whose binding has run out is not rung', () => {
    expect(placesToRing(bindingsAfter([], one), NOW + 300_000)).toEqual([]);
  });

  it('has eight bindings at most: a ninth replaces the one that was renewed longest ago', () => {
    let bindings: readonly PhoneBinding[] = [];
    for (let nth = 0; nth <= MAX_BINDINGS; nth++)
      bindings = bindingsAfter(bindings, { contact: `<sip:204@192.0.2.7:${6_000 + nth}>` }, { cseq: nth });
    expect(bindings).toHaveLength(MAX_BINDINGS);
    expect(bindings[0]?.contact).toBe('sip:204@192.0.2.7:6001');
  });
});
