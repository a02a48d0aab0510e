import { describe, expect, it } from 'vitest';
import { readDrachtioQuestion } from '#control-plane/calls/admission/drachtio-question.ts';
import { parameter, parseUri, uriOf } from '#telephony/embedded/message.ts';
import { readMessage } from '#telephony/embedded/read-message.ts';
import { parseVia } from '#telephony/embedded/via.ts';
import { readRedirection } from '#telephony/registration/redirection.ts';
import { readRegisterAnswer } from '#telephony/registration/register-answer.ts';
import { readRegister } from '#telephony/registration/register-request.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS, USUAL_CHARS } from './tokens.ts';

const LINES = {
  Via: 'SIP/2.0/UDP 203.0.113.9;branch=z9hG4bK1',
  From: '<sip:a@b>;tag=1',
  To: '<sip:c@d>',
  'Call-ID': '1@203.0.113.9',
  CSeq: '1 OPTIONS',
};
const REGISTER = { to: '<sip:a@b>', 'call-id': '1', cseq: '1 REGISTER', contact: '<sip:a@b>' };
const request = (first: string, lines: Readonly<Record<string, string>>) =>
  [first, ...Object.entries(lines).map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
/** A request with this long text in one of its headers. */
const withHeader = (name: string, value: string) =>
  request('OPTIONS sip:a@b SIP/2.0', { ...LINES, [name]: value });

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'a message': readMessage,
  'a start line': (text) => readMessage(request(`INVITE ${text} SIP/2.0`, LINES)),
  'a From': (text) => readMessage(withHeader('From', text)),
  'a Via': (text) => readMessage(withHeader('Via', `SIP/2.0/UDP ${text}`)),
  'a parameter': (text) => parameter(text, 'tag'),
  'a parameter behind an escaped quote': (text) => parameter(`"${text.replaceAll('"', '\\"')}`, 'tag'),
  'an address': (text) => [uriOf(text), parseUri(`sip:${text}`)],
  'a Via value': (text) => parseVia(`SIP/2.0/UDP a;b=${text}`),
  'an answer of a registrar': (text) =>
    ['Contact', 'Via', 'Expires', 'Service-Route', 'WWW-Authenticate'].map((name) =>
      readRegisterAnswer({
        status: name === 'WWW-Authenticate' ? 401 : 200,
        reason: text,
        headers: [{ name, value: name === 'WWW-Authenticate' ? `Digest ${text}` : text }],
        sourceAddress: '203.0.113.9',
        contact: null,
        server: 'sip-1',
      }),
    ),
  'a REGISTER of a phone': (text) =>
    ['Contact', 'Expires', 'Path', 'Require', 'User-Agent', 'To'].map((name) =>
      readRegister([
        ...Object.entries({ ...REGISTER, [name.toLowerCase()]: text }).map(([key, value]) => ({
          name: key,
          value,
        })),
      ]),
    ),
  'a redirection of a registrar': (text) => readRedirection(`sip:${text}`),
  'a message as drachtio-server posts it': (text) =>
    readDrachtioQuestion(request('INVITE sip:a@b SIP/2.0', { ...LINES, From: text }), {
      source_address: '203.0.113.9',
      protocol: 'udp',
    }),
};
const TOKENS = {
  ...HOSTILE_TOKENS,
  'blanks and a letter': ' a',
  addresses: 'sip:',
  'escaped quotes': '\\"',
  'names of parameters': ';tag',
  'half addresses': '<sip:a',
};

describe('security 1: SIP is read in linear time', () => {
  it.each(Object.entries(READERS))('%s', (_, run) => {
    for (const [name, token] of Object.entries(TOKENS)) {
      const growth = growthOf({ make: (size) => repeated(token, size), run, longest: USUAL_CHARS });
      expect(growth.ratio, `${name} at ${growth.size}`).toBeLessThanOrEqual(MOST_GROWTH);
    }
  });
});

describe('security 1: a header', () => {
  const named = (chars: number) => withHeader('Subject', 'x'.repeat(chars - 'Subject: '.length));

  it('is accepted up to 8,192 characters, and a longer one is answered with 400', () => {
    expect(readMessage(named(8_192))).toMatchObject({ is: 'message' });
    expect(readMessage(named(8_193))).toMatchObject({ is: 'refused', status: 400 });
  });
});
