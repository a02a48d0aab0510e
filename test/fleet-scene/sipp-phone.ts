/**
 * A phone by sipp: it calls, plays its microphone in a loop, answers requests within the call, and hangs up
 * when a MESSAGE with its Call-ID arrives, by which the scene presses the hook.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBlock } from '#caller/g711.ts';
import { RunningProgram } from '../journeys/program.ts';
import { callAndPlay, contactOf, DESCRIPTION, hangUp } from '../journeys/sipp-call-steps.ts';
import { OUTSIDE } from './network.ts';

const HANGS_UP_WITHIN_MS = 15_000;

/** A phone in its call. */
export interface SippPhone {
  hangUp(): Promise<void>;
  /** Messages of sipp if the call went another way. */
  problems(): string[];
  close(): Promise<void>;
}

/** What it calls, and with what. */
export interface SippOptions {
  /** `sip:number@host:port` */
  readonly target: string;
  /** User part of From. */
  readonly from: string;
  /** 8 kHz. */
  readonly microphone: Int16Array;
  /** A new folder for its files. */
  readonly folder: string;
  readonly sipPort: number;
  readonly rtpPort: number;
}

/** Places the call. */
export function startSippPhone(options: SippOptions): SippPhone {
  const { target, from, folder, sipPort } = options;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'microphone.ul'), encodeBlock(options.microphone));
  writeFileSync(join(folder, 'call.xml'), scenario(options));
  const program = new RunningProgram(
    [
      ...['sipp', '-sf', 'call.xml', target.split('@')[1] ?? '', '-i', OUTSIDE, '-p', String(sipPort)],
      ...['-mp', String(options.rtpPort), '-cid_str', callIdOf(from), '-m', '1', '-nostdin'],
      ...['-trace_err', '-error_file', 'errors.log'],
    ],
    { cwd: folder, env: process.env },
  );
  return {
    async hangUp() {
      const socket = createSocket('udp4').bind(0, OUTSIDE);
      await once(socket, 'listening');
      socket.send(hook(from), sipPort, OUTSIDE);
      const isOver = await Promise.race([
        program.ended().then(() => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), HANGS_UP_WITHIN_MS)),
      ]);
      socket.close();
      if (!isOver) program.signal('SIGKILL');
    },
    problems: () =>
      readdirSync(folder)
        .filter((name) => name.includes('errors'))
        .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
        .filter((line) => line.includes('Aborting') || line.includes('unexpected')),
    close: () => program.close(),
  };
}

function callIdOf(from: string): string {
  return `call-of-${from}@sipp`;
}

/** Tells sipp to hang up; it needs no answer. */
function hook(from: string): string {
  return [
    'MESSAGE sip:phone@sipp SIP/2.0',
    `Via: SIP/2.0/UDP ${OUTSIDE}:9;branch=z9hG4bK-hook`,
    'From: <sip:finger@scene>;tag=finger',
    'To: <sip:phone@sipp>',
    `Call-ID: ${callIdOf(from)}`,
    'CSeq: 1 MESSAGE',
    'Content-Length: 0\r\n\r\n',
  ].join('\r\n');
}

function scenario({ target, from }: SippOptions): string {
  const caller = { target, from, tag: `tag-of-${from}` };
  return `<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a phone that asks again and again">
${callAndPlay(caller, -1)}
<label id="1"/>
<recv request="INVITE" optional="true" next="2"/>
<recv request="OPTIONS" optional="true" next="3"/>
<recv request="ACK" optional="true" next="1"/>
<recv request="MESSAGE" optional="true" next="4"/>
<recv request="BYE" next="5"/>
<label id="2"/>
${answer(1, `${contactOf(caller)}\nContent-Type: application/sdp\n`, DESCRIPTION)}
<label id="3"/>
${answer(1)}
<label id="4"/>
${hangUp(caller, '<recv response="200" next="6"/>')}
<label id="5"/>
${answer(6)}
<label id="6"/>
<nop/>
</scenario>
`;
}

function answer(next: number, extra = '', body = ''): string {
  return `<send next="${next}"><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
[last_Record-Route:]
${extra}Content-Length: [len]

${body}]]></send>`;
}
