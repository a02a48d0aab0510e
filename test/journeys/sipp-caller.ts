/**
 * A phone call by sipp: INVITE, a recorded microphone as RTP, BYE. Its received audio is taken from a capture
 * of its media port, because sipp keeps none.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCapture } from '#caller/capture.ts';
import { addressOf } from '#caller/sip-call.ts';
import { freeUdpPort } from '#test/free-port.ts';
import { heardOn } from './ear.ts';
import { recordUlaw, type Utterance } from './microphone.ts';

/** Result of the call. */
export interface SippCall {
  /** 0 if the scenario succeeded. */
  readonly exitStatus: number | null;
  /** 8 kHz. */
  readonly heard: Int16Array;
}

/** Calls, plays the whole microphone recording and hangs up. */
export async function callWithSipp(
  target: string,
  from: string,
  utterances: readonly Utterance[],
): Promise<SippCall> {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-call-'));
  const microphone = recordUlaw(utterances);
  writeFileSync(join(folder, 'microphone.ul'), microphone.file);
  writeFileSync(
    join(folder, 'call.xml'),
    scenario({ target, from, milliseconds: Math.round(microphone.seconds * 1_000) }),
  );
  const { host, port } = addressOf(target);
  const mediaPort = await freeUdpPort();
  const capture = await startCapture({ first: mediaPort, last: mediaPort });
  const child = spawn(
    'sipp',
    [
      '-sf',
      'call.xml',
      `${host}:${port}`,
      '-i',
      '127.0.0.1',
      '-p',
      String(await freeUdpPort()),
      '-mp',
      String(mediaPort),
      '-m',
      '1',
      '-nostdin',
    ],
    { cwd: folder, stdio: 'ignore' },
  );
  const [exitStatus] = (await once(child, 'exit')) as [number | null];
  rmSync(folder, { recursive: true, force: true });
  return { exitStatus, heard: heardOn(mediaPort, await capture.stop()) };
}

function scenario({
  target,
  from,
  milliseconds,
}: {
  target: string;
  from: string;
  milliseconds: number;
}): string {
  const head = (
    method: string,
    sequence: number,
    toTag: string,
  ) => `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:${from}@[local_ip]:[local_port]>;tag=[call_number]
To: <${target}>${toTag}
Call-ID: [call_id]
CSeq: ${sequence} ${method}
Max-Forwards: 70`;
  return `<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a caller with a microphone">
<send retrans="500"><![CDATA[
INVITE ${target} SIP/2.0
${head('INVITE', 1, '')}
Contact: <sip:${from}@[local_ip]:[local_port]>
Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [local_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
]]></send>
<recv response="100" optional="true"/>
<recv response="180" optional="true"/>
<recv response="200" rrs="true"/>
<send><![CDATA[
ACK [next_url] SIP/2.0
${head('ACK', 1, '[peer_tag_param]')}
[routes]
Content-Length: 0

]]></send>
<nop><action><exec rtp_stream="microphone.ul,1,0"/></action></nop>
<pause milliseconds="${milliseconds}"/>
<send retrans="500"><![CDATA[
BYE [next_url] SIP/2.0
${head('BYE', 2, '[peer_tag_param]')}
[routes]
Content-Length: 0

]]></send>
<recv response="200"/>
</scenario>
`;
}
