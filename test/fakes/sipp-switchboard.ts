/**
 * The far end of a trunk for many calls: depending on the number called, sipp answers, is busy, or does not
 * answer.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeSippMediaPort, freeUdpPort } from '../free-port.ts';

/** A switchboard that accepts calls until it is closed. */
export interface SippSwitchboard {
  /** `host:port` */
  readonly address: string;
  /** All numbers called so far, one entry per call. */
  called(): string[];
  close(): Promise<void>;
}

/**
 * Numbers ending in 1 are busy and those ending in 2 do not answer; all others answer and hang up after
 * `talkMs`.
 */
export async function startSippSwitchboard({
  talkMs,
}: {
  readonly talkMs: number;
}): Promise<SippSwitchboard> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-switchboard-'));
  await writeFile(join(folder, 'switchboard.xml'), scenario(talkMs));
  const [port, mediaPort] = [await freeUdpPort(), await freeSippMediaPort()];
  const options = [
    '-i',
    '127.0.0.1',
    '-p',
    String(port),
    '-mp',
    String(mediaPort),
    '-nostdin',
    '-trace_logs',
    '-log_file',
    'called',
  ];
  const child = spawn('sipp', ['-sf', 'switchboard.xml', ...options], { cwd: folder, stdio: 'ignore' });
  const ended = once(child, 'exit');
  const log = join(folder, 'called');
  return {
    address: `127.0.0.1:${port}`,
    called: () =>
      (existsSync(log) ? readFileSync(log, 'utf8') : '')
        .split('\n')
        .flatMap((line) => /sip:(\+\d+)@/.exec(line)?.[1] ?? []),
    close: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function scenario(talkMs: number): string {
  const header = (name: string, regexp: string, variable: string) =>
    `<ereg regexp="${regexp}" search_in="hdr" header="${name}:" assign_to="${variable}"/>`;
  return `<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a switchboard">
<recv request="INVITE"><action>
${header('From', '.+', 'from')}
${header('To', '.+', 'to')}
${header('Contact', 'sip:[^&gt;]+', 'target')}
${header('To', '[0-9]+1@', 'busy')}
${header('To', '[0-9]+2@', 'away')}
<log message="[$to]"/>
</action></recv>
${response('100 Trying')}
<nop next="1" test="busy"/>
<nop next="2" test="away"/>
${response('180 Ringing')}
${response('200 OK', 'v=0\no=phone 1 1 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio [auto_media_port] RTP/AVP 0\n')}
<recv request="ACK"/>
<pause milliseconds="${talkMs}"/>
<send retrans="500" next="3"><![CDATA[
BYE [$target] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From:[$to];tag=phone[call_number]
To:[$from]
Call-ID: [call_id]
CSeq: 1 BYE
Max-Forwards: 70
Content-Length: 0

]]></send>
<label id="1"/>
${response('486 Busy Here')}
<recv request="ACK" next="4"/>
<label id="2"/>
${response('480 Temporarily Unavailable')}
<recv request="ACK" next="4"/>
<label id="3"/>
<recv response="200"/>
<label id="4"/>
</scenario>
`;
}

function response(status: string, sdp = ''): string {
  return `<send><![CDATA[
SIP/2.0 ${status}
[last_Via:]
[last_From:]
[last_To:]${status.startsWith('100') ? '' : ';tag=phone[call_number]'}
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:127.0.0.1:[local_port];transport=[transport]>
${sdp === '' ? '' : 'Content-Type: application/sdp\n'}Content-Length: [len]

${sdp}]]></send>`;
}
