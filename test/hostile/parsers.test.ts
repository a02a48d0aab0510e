import { expect, it } from 'vitest';
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { parseAgentFile } from '#cli/agent-file.ts';
import { readSamples } from '#cli/prometheus-text.ts';
import { mergeCustomSpeech } from '#config/custom-speech.ts';
import { readKeys } from '#config/telephone-keys.ts';
import { readHeardCall } from '#control-plane/calls/recordings/heard-call.ts';
import { replacePrivate } from '#control-plane/calls/recordings/replace-private.ts';
import { parseChunk, parseSegment } from '#control-plane/calls/recordings/stored-pieces.ts';
import { angerIn } from '#control-plane/calls/tags/anger-words.ts';
import { LOOP, repetitionsIn } from '#control-plane/calls/tags/repetitions.ts';
import { spokenLanguage } from '#control-plane/calls/tags/spoken-language.ts';
import { checkDigest, digestSecrets } from '#control-plane/catalogue/numbers/sip-digest.ts';
import { msgpackParts } from '#control-plane/platform/http/msgpack-shape.ts';
import { parseRtp } from '#media/rtp/packet.ts';
import { parseRtcp } from '#media/rtp/rtcp.ts';
import { decodeFlac } from '#media/speech/audio/flac-decoder.ts';
import { flacFile } from '#media/speech/audio/flac-format.ts';
import { WavReader } from '#media/speech/custom/pcm-reader.ts';
import { parsePhones } from '#media/speech/local/flite.ts';
import { decodeWav } from '#media/speech/pool/decode-wav.ts';
import { ssmlElement, xmlText } from '#media/speech/text/ssml.ts';
import { readMessage } from '#media/speech/vendors/azure-messages.ts';
import { encodeMessage } from '#media/speech/vendors/connection/protobuf.ts';
import { readAnswer } from '#media/speech/vendors/google-messages.ts';
import { PlivoStream } from '#media/stream/plivo-stream.ts';
import { TelnyxStream } from '#media/stream/telnyx-stream.ts';
import { TwilioStream } from '#media/stream/twilio-stream.ts';
import { VonageStream } from '#media/stream/vonage-stream.ts';
import { FRAME, splitCallFile } from '#protocol/call-file.ts';
import { chunkText } from '#protocol/knowledge-chunks.ts';
import { placeholderProblem } from '#protocol/placeholders.ts';
import { readServerTools } from '#protocol/server-tools.ts';
import { packUploads, unpackUploads } from '#protocol/uploads.ts';
import { keysOf } from '#runtime/tools/press-keys.ts';
import { judgeAnswer, judgeCompleteness } from '#runtime/turn/machine/endpointing/endpointing.ts';
import { answersQuestion } from '#runtime/turn/machine/interruption/answered-question.ts';
import { isMailbox, whoAnswered } from '#runtime/turn/machine/opening/answering-machine.ts';
import { readAcknowledgement } from '#runtime/turn/text/acknowledgements.ts';
import { withoutHints } from '#runtime/turn/text/answer-hints.ts';
import { claimsKeys } from '#runtime/turn/text/claimed-keys.ts';
import { withoutCues } from '#runtime/turn/text/cues.ts';
import { expectationOf } from '#runtime/turn/text/expectation.ts';
import { announced, isRepeated, lineWords } from '#runtime/turn/text/line-words.ts';
import { normalised } from '#runtime/turn/text/normalised.ts';
import { argumentsOfSchema, slotsOf } from '#runtime/turn/text/tool-slots.ts';
import { soundsOf } from '#runtime/turn/text/word-sounds.ts';
import { plivoVoice } from '#telephony/carriers/plivo-voice.ts';
import { toFault, toTwilioFailure } from '#telephony/carriers/twilio-failure.ts';
import { decodeBencode } from '#telephony/relay/bencode.ts';
import { isAnswerable } from '#telephony/sdp.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS, USUAL_CHARS } from './tokens.ts';

const greeting = (text: string) => ({ answeredMs: 0, startMs: 0, endMs: 1, text, tone: null });
const session = (lines: string) =>
  'v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP ' +
  `0\r\n${lines}`;

/** A bare header, and one with CSRCs, an extension and padding. */
const RTP_HEADS = [
  [0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
  [0xbf, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
];
/** A frame of silence, and one of differences: both say that they are long. */
const FLAC_HEADS = [
  [0xff, 0xf9, 0x70, 0x08, 0, 0xff, 0xff, 0, 0],
  [0xff, 0xf9, 0x70, 0x08, 0, 0xff, 0xff, 0, 0x10],
];
const FLAC = { rateHz: 8_000, samples: 65_536 };
const LOG_HEAD = { flight_log_version: 1, started_at_ms: 0, wall_time: '2026-01-01T00:00:00Z' };
const PROOF = { username: 'trunk', secrets: digestSecrets('trunk', 'secret') };
const CALL = {
  boundTo: '+15550100001',
  method: 'INVITE' as const,
  algorithms: ['MD5', 'SHA-256'] as const,
  key: new Uint8Array(32),
  wallTimeMs: 0,
  requestUri: undefined,
};

const PLIVO = { account: 'MA1', secret: 'secret' };
const SIGNED_BY_PLIVO = { 'x-plivo-signature-v3': 'a', 'x-plivo-signature-v3-nonce': 'b' };

/** Null if the work is refused. */
function refused(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return null;
  }
}

/**
 * Parsers of untrusted text and bytes, except those with their own tests in this folder. An error counts as a
 * refusal.
 */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  'a session description': isAnswerable,
  'a line of a session description': (text) => isAnswerable(session(`a=crypto:${text}\r\n`)),
  'attributes of a session description': (text) =>
    isAnswerable(session(text.replace(/.{1,20}/gs, 'a=rtpmap:$&\r\n'))),
  MessagePack: (text) => [...msgpackParts(Buffer.from(text))],
  'a reply of a media relay': (text) => decodeBencode(Buffer.from(text)),
  'a relay’s text in a dictionary': (text) => decodeBencode(Buffer.from(`d1:a${text}`)),
  RTCP: (text) => parseRtcp(Buffer.from(text)),
  'an RTP packet': (text) =>
    RTP_HEADS.map((head) => parseRtp(Buffer.concat([Buffer.from(head), Buffer.from(text)]))),
  'a STUN message where RTP is awaited': (text) =>
    parseRtp(Buffer.from(`\0\x01\0\0\x21\x12\xa4\x42${text}`, 'latin1')),
  metrics: readSamples,
  'labels of a metric': (text) => readSamples(`parley_workers{${text}} 1`),
  'a digest answer': (text) =>
    [`Digest ${text}`, `Digest username="${text}`, `Digest nc=1,${text}="`].map((header) =>
      checkDigest(header, PROOF, CALL),
    ),
  'a refusal of a carrier': (text) => toFault(toTwilioFailure({ status: 400, message: text })),
  'a streamed WAV file': (text) => new WavReader().read(Buffer.from(`RIFF\0\0\0\0WAVE${text}`)),
  'a message of a media stream': (text) =>
    [new TwilioStream(), new TelnyxStream(), new PlivoStream(), new VonageStream()].map((stream) =>
      [text, JSON.stringify({ event: 'mark', mark: { name: text } }), Buffer.from(text)].map((message) =>
        refused(() => stream.read(message)),
      ),
    ),
  'a question about a streamed call': (text) =>
    refused(() => plivoVoice.read(PLIVO, { url: '', headers: SIGNED_BY_PLIVO, body: text, atMs: 0 })),
  'a message of Azure': (text) => [readMessage(text), readMessage(`Path: speech.phrase\r\n${text}`)],
  'an answer of Google': (text) => [
    readAnswer(Buffer.from(text)),
    // A result with an alternative of this text as its words.
    readAnswer(encodeMessage([[2, encodeMessage([[1, encodeMessage([[3, text]])]])]])),
  ],
  'a text as SSML': (text) => ssmlElement('voice', { name: text }, xmlText(text)),
  'an address of custom speech': (text) =>
    mergeCustomSpeech(undefined, { tts: { protocol: 'openai', url: `https://own.example.com/${text}` } }),
  'a WAV file': (text) => [...decodeWav(Buffer.from(`RIFF\0\0\0\0WAVE${text}`), 60)],
  'a piece of a recording': (text) =>
    FLAC_HEADS.map((head) => [...decodeFlac(flacFile([Buffer.from(head), Buffer.from(text)], FLAC))]),
  'uploads of a worker': (text) => [
    unpackUploads(Buffer.from(`\0\0\0\x10${text}`)),
    unpackUploads(packUploads([{ head: { type: text }, bytes: Buffer.from(text) }])),
  ],
  'an exported call': (text) => [
    splitCallFile(text),
    splitCallFile(`${FRAME.partsOpen}${text}${FRAME.partsClose}${text}`),
  ],
  'tools of a server': (text) =>
    readServerTools([
      { name: text, inputSchema: { type: 'object' } },
      { name: 'a', description: text, inputSchema: { type: 'object', title: text } },
    ]),
  'the name of a stored piece': (text) => [parseSegment(`user-${text}`), parseChunk(text)],
  'a text in a file of an agent': (text) => parseAgentFile(`agent:\n  name: |\n    ${text}`, 'agent.yaml'),
  'private data in what was said': (text) => [
    replacePrivate([text]),
    replacePrivate([`My name is ${text} five ${text} at ${text} dot ${text}`, text]),
  ],
  'a flight log from which a test is made': (text) => [
    readHeardCall(text),
    readHeardCall(`${JSON.stringify(LOG_HEAD)}\n${text}`),
  ],
  JSON: (text) => parseJson(z.unknown(), text),
  'placeholders of the platform': (text) => placeholderProblem(`{{system.${text}`),
  'a text that is searched': chunkText,
  'phones of a voice': parsePhones,
  'who answered': (text) => whoAnswered(greeting(text), 10_000),
  'automated lines': (text) => [
    lineWords(text, { isMailbox: false, isAutomated: true, isPerson: false }),
    isMailbox(text),
    isRepeated(announced(`one two three four five ${text}`), announced(`${text} five four three two one`)),
  ],
  'cues of a model': (text) => withoutCues(`[${text}`),
  'keys of a model': (text) => [readKeys(text), keysOf(JSON.stringify({ keys: text })), keysOf(text)],
  'a claim to press keys': (text) => [claimsKeys(text, 'en'), claimsKeys(`ich habe ${text}`, 'de')],
  'hints of a model': (text) => [
    withoutHints(`[expects ${text}`),
    withoutHints(`[expects one of ${text}]`),
    withoutHints(`${text}[expects 8 digits]`),
  ],
  'what was heard, compared': normalised,
  'words over the agent': (text) => [
    readAcknowledgement(text, 'en'),
    readAcknowledgement(`okay ${text}`, 'ja'),
    answersQuestion(
      'yes',
      { replyId: 'r1', text: `${text} Shall I? ${text}` },
      { language: 'en', over: { replyId: 'r1', chars: text.length } },
    ),
  ],
  'the end of a turn': (text) => [
    judgeCompleteness(text, 'en'),
    judgeCompleteness(`my email is ${text}`, 'en'),
    judgeCompleteness(`${text}at gmail dot`, 'ja'),
  ],
  'the end of an answer': (text) => [
    judgeAnswer(text, { kind: 'yes_no', isOffer: false }, 'en'),
    judgeAnswer(text, { kind: 'phone' }, 'en'),
    judgeAnswer(`${text}at gmail dot`, { kind: 'email' }, 'en'),
    judgeAnswer(`${text}quatre-vingt`, { kind: 'phone' }, 'fr'),
    judgeAnswer(`may ${text}`, { kind: 'birth' }, 'en'),
    judgeAnswer(text, { kind: 'spelling', names: [text.slice(0, 400)] }, 'en'),
    judgeAnswer(text, { kind: 'code', lengths: [8] }, 'en'),
    judgeAnswer(`12 street ${text}`, { kind: 'postal' }, 'en'),
    judgeAnswer(`straße ${text} 5`, { kind: 'postal' }, 'de'),
  ],
  'arguments of tools': (text) =>
    slotsOf(
      [
        { name: text, description: `${text} digits` },
        { name: 'a', description: '', schema: { pattern: `^\\d{4}${text}`, title: text, enum: [text, 'b'] } },
        ...argumentsOfSchema({ properties: { [text]: { pattern: text } } }),
      ],
      'en',
    ),
  'what a reply expects': (text) => [expectationOf(`${text}?`, 'en'), expectationOf(`or ${text}?`, 'de')],
  'how a word sounds': soundsOf,
  'words of both sides of a call': (text) => [
    spokenLanguage([text, `${text} und`]),
    angerIn(text, 'en', [text.slice(0, 64)]),
    repetitionsIn([{ content: text }, { content: `${text} again` }], LOOP),
  ],
};
/** No caller says more in one turn. */
const TURN_CHARS = 10_000;
const SPOKEN = new Set([
  'the end of a turn',
  'the end of an answer',
  'how a word sounds',
  'what was heard, compared',
  'words over the agent',
]);
const TOKENS = {
  ...HOSTILE_TOKENS,
  lines: '\n',
  'ends of lines': '\r\n',
  letters: 'a',
  digits: '1',
  'dictated addresses': 'at a dot ',
  dashes: '- ',
  braces: '}',
};

it.each(Object.entries(PARSERS))('%s is read in linear time', (what, parse) => {
  const run = (text: string) => {
    try {
      return parse(text);
    } catch (error) {
      return error;
    }
  };
  for (const [name, token] of Object.entries(TOKENS)) {
    const longest = SPOKEN.has(what) ? TURN_CHARS : USUAL_CHARS;
    const growth = growthOf({ make: (size) => repeated(token, size), run, longest });
    expect(growth.ratio, `${name} at ${growth.size}`).toBeLessThanOrEqual(MOST_GROWTH);
  }
});
