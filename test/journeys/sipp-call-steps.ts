/** Steps of a sipp scenario for a caller with a microphone, through proxies that stay on the path. */

/** Who calls whom. */
export interface SippCaller {
  /** `sip:number@host:port` */
  readonly target: string;
  /** User part of From. */
  readonly from: string;
  /** From tag; sipp replaces its keywords in it. */
  readonly tag: string;
}

/** Of sipp's own media port. */
export const DESCRIPTION = `v=0
o=sipp 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [local_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
`;

/** The caller's Contact header. */
export function contactOf({ from }: SippCaller): string {
  return `Contact: <sip:${from}@[local_ip]:[local_port]>`;
}

/** INVITE, the answer, ACK; then `microphone.ul` plays `times` times, -1 for ever. */
export function callAndPlay(caller: SippCaller, times: number): string {
  return `<send retrans="500"><![CDATA[
INVITE ${caller.target} SIP/2.0
${head(caller, 'INVITE', 1, '')}
${contactOf(caller)}
Content-Type: application/sdp
Content-Length: [len]

${DESCRIPTION}]]></send>
<recv response="100" optional="true"/>
<recv response="180" optional="true"/>
<recv response="200" rrs="true"/>
<send><![CDATA[
ACK [next_url] SIP/2.0
${head(caller, 'ACK', 1, '[peer_tag_param]')}
[routes]
Content-Length: 0

]]></send>
<nop><action><exec rtp_stream="microphone.ul,${times},0"/></action></nop>`;
}

/** BYE, whose response `response` awaits. */
export function hangUp(caller: SippCaller, response = '<recv response="200"/>'): string {
  return `<send retrans="500"><![CDATA[
BYE [next_url] SIP/2.0
${head(caller, 'BYE', 2, '[peer_tag_param]')}
[routes]
Content-Length: 0

]]></send>
${response}`;
}

function head({ target, from, tag }: SippCaller, method: string, sequence: number, toTag: string): string {
  return `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:${from}@[local_ip]:[local_port]>;tag=${tag}
To: <${target}>${toTag}
Call-ID: [call_id]
CSeq: ${sequence} ${method}
Max-Forwards: 70`;
}
