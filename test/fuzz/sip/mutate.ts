/**
 * Changes bytes as a broken or hostile sender might: a flipped bit, a lost line, a wrong length, a piece of
 * another message. The same random sequence gives the same bytes.
 */
import type { Random } from '#test/simulation/random.ts';

const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '\r\n ',
  '\0',
  '"',
  '<',
  '>',
  '@',
  ';',
  ',,',
  '%00',
  '\\',
  ';tag=',
  ';lr',
  ';branch=z9hG4bK',
  'SIP/2.0',
  'sip:[::1]:0',
  'Content-Length: 99999\r\n',
  'l: -1\r\n',
  'Require: 100rel\r\n',
  'Session-Expires: 4294967296;refresher=uas\r\n',
  '4294967296',
  '-1',
  '\u00e9\u{1f642}',
  'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA\r\n',
  'm=audio 0 RTP/AVP 0\r\n',
  'a=rtpmap:999 PCMU/0\r\n',
].map((token) => Buffer.from(token));
const MOST_CHANGES = 6;
const MOST_REPEATS = 400;

/** Makes one to six changes; inserted pieces are taken from `others`. */
export function mutate(original: Buffer, others: readonly Buffer[], random: Random): Buffer {
  let bytes: Buffer = Buffer.from(original);
  for (let changes = 1 + Math.floor(random.next() * MOST_CHANGES); changes > 0; changes--)
    bytes = change(bytes, others, random);
  return bytes;
}

function change(bytes: Buffer, others: readonly Buffer[], random: Random): Buffer {
  const at = Math.floor(random.next() * (bytes.length + 1));
  const length = Math.floor(random.next() ** 3 * Math.min(200, bytes.length - at));
  const piece = bytes.subarray(at, at + length);
  switch (Math.floor(random.next() * 9)) {
    case 0:
      return flipped(bytes, at, random);
    case 1:
      return spliced(bytes, at, length, Buffer.alloc(0));
    case 2:
      return spliced(bytes, at, 0, piece);
    case 3:
      return spliced(bytes, at, 0, random.pick(TOKENS));
    case 4:
      return spliced(bytes, at, length, random.pick(TOKENS));
    case 5:
      return spliced(
        bytes,
        at,
        0,
        Buffer.concat(
          Array.from({ length: Math.floor(random.next() * MOST_REPEATS) }, () => piece.subarray(0, 4)),
        ),
      );
    case 6:
      return spliced(bytes, at, length, pieceOf(random.pick(others), random));
    case 7:
      return linesSwapped(bytes, random);
    default:
      return bytes.subarray(0, random.chance(0.3) ? at : bytes.length);
  }
}

function flipped(bytes: Buffer, at: number, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << Math.floor(random.next() * 8));
  return copy;
}

function spliced(bytes: Buffer, at: number, length: number, put: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + length)]);
}

function pieceOf(bytes: Buffer, random: Random): Buffer {
  const at = Math.floor(random.next() * bytes.length);
  return bytes.subarray(at, at + Math.floor(random.next() * 80));
}

function linesSwapped(bytes: Buffer, random: Random): Buffer {
  const lines = bytes.toString('latin1').split('\r\n');
  const [a, b] = [Math.floor(random.next() * lines.length), Math.floor(random.next() * lines.length)];
  [lines[a], lines[b]] = [lines[b] ?? '', lines[a] ?? ''];
  return Buffer.from(lines.join('\r\n'), 'latin1');
}
