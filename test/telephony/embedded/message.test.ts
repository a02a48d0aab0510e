import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatMessage,
  header,
  headerList,
  parameter,
  parseCseq,
  parseMessage,
  parseUri,
  uriOf,
} from '#telephony/embedded/message.ts';

const request = (...lines: string[]) =>
  parseMessage(['OPTIONS sip:a@b SIP/2.0', ...lines, '', ''].join('\r\n'));

describe('SIP messages', () => {
  it('compact names, folded lines and any letter case give the same headers', () => {
    const message = request(
      'v: SIP/2.0/UDP a;branch=1',
      'F: <sip:x@y>;tag=1',
      'SUBJECT: one',
      '  two',
      'l: 0',
    );
    expect(message && [header(message, 'via'), header(message, 'from'), header(message, 'subject')]).toEqual([
      'SIP/2.0/UDP a;branch=1',
      '<sip:x@y>;tag=1',
      'one two',
    ]);
  });

  it('lists split at commas outside quotes and brackets, across several headers, in order', () => {
    const message = request(
      'Via: SIP/2.0/UDP a;branch=1, SIP/2.0/TCP b;branch=2',
      'v: SIP/2.0/UDP c',
      'Contact: "Doe, \\"J\\", x" <sip:a@b?x=1,2>, <sip:c@d>',
    );
    expect(message && headerList(message, 'via')).toEqual([
      'SIP/2.0/UDP a;branch=1',
      'SIP/2.0/TCP b;branch=2',
      'SIP/2.0/UDP c',
    ]);
    expect(message && headerList(message, 'contact')).toEqual([
      '"Doe, \\"J\\", x" <sip:a@b?x=1,2>',
      '<sip:c@d>',
    ]);
  });

  it('parameters are read outside the address and the display name only', () => {
    expect(parameter('"a;tag=no" <sip:a@b;tag=no>;x=1;TAG=yes', 'tag')).toBe('yes');
    expect(parameter('<sip:a@b;tag=no>', 'tag')).toBeNull();
    expect(uriOf('"x" <sip:a@b;lr>;tag=1')).toBe('sip:a@b;lr');
  });

  it('a body has the Content-Length in bytes; a shorter one is rejected', () => {
    const text = (length: number) => `OPTIONS sip:a@b SIP/2.0\r\nContent-Length: ${length}\r\n\r\näöx`;
    expect(parseMessage(text(4))?.body).toBe('äö');
    expect(parseMessage(text(5))?.body).toBe('äöx');
    expect(parseMessage(text(6))).toBeNull();
  });

  it.each([
    ['sip:+1%2055@h', { user: '+1 55', host: 'h', port: null, transport: null }],
    [
      'sips:u;p=1:pw@[2001:db8::1]:5071;transport=TCP',
      { user: 'u', host: '2001:db8::1', port: 5071, transport: 'tcp' },
    ],
    ['sip:h:0', null],
    ['sip:h:70000', null],
    ['tel:+1', null],
  ])('%s', (uri, parsed) => {
    expect(parseUri(uri)).toEqual(parsed);
  });

  it.each([
    ['no start line', 'hello\r\n\r\n'],
    ['another version', 'OPTIONS sip:a@b SIP/3.0\r\n\r\n'],
    ['no end of the head', 'OPTIONS sip:a@b SIP/2.0\r\n'],
    ['a status out of range', 'SIP/2.0 700 X\r\n\r\n'],
    ['a line that is no header', 'OPTIONS sip:a@b SIP/2.0\r\nno colon\r\n\r\n'],
    ['too many headers', `OPTIONS sip:a@b SIP/2.0\r\n${'x: y\r\n'.repeat(257)}\r\n`],
    ['a length that is no number', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: -1\r\n\r\n'],
  ])('%s is not a message', (_, text) => {
    expect(parseMessage(text)).toBeNull();
  });

  it('a CSeq of 2^31 or more is malformed', () => {
    expect(parseCseq({ headers: [{ name: 'CSeq', value: '2147483647 BYE' }] })).toEqual({
      number: 2_147_483_647,
      method: 'BYE',
    });
    expect(parseCseq({ headers: [{ name: 'CSeq', value: '2147483648 BYE' }] })).toBeNull();
  });

  it('messages survive writing and parsing, and parsing never throws', () => {
    const token = fc
      .stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/)
      .filter((name) => !/^(content-length|l)$/i.test(name));
    const value = fc.string({ maxLength: 40 }).map((text) => text.trim());
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: token, value }), { maxLength: 20 }),
        fc.string({ unit: 'grapheme' }),
        (headers, body) => {
          const message = {
            start: { kind: 'request', method: 'INFO', uri: 'sip:a@b' },
            headers,
            body,
          } as const;
          const read = parseMessage(formatMessage(message));
          expect(read && { ...read, headers: read.headers.slice(0, -1) }).toEqual(message);
        },
      ),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const message = parseMessage(`INVITE sip:a@b SIP/2.0\r\nVia: ${text}`) ?? parseMessage(text);
        if (message) headerList(message, 'via').map((via) => parameter(via, 'branch'));
        parseUri(text);
      }),
    );
  });
});
