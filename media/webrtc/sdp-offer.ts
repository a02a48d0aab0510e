/**
 * Filters a browser's SDP offer (RFC 8866, RFC 8829) before the native WebRTC library parses it: input that
 * no browser writes can crash the library's process, with the calls of others in it. Keeps lines of a known
 * form and drops all others. Linear in the length of the offer.
 */

/** More than any browser's offer has. */
const LIMITS = { chars: 200_000, lineChars: 1_024, sections: 8, candidates: 128, sources: 64, others: 256 };

const MEDIA =
  /^m=(?:(?:audio|video) \d{1,5} (?:(?:UDP|TCP)\/)?(?:TLS\/)?RTP\/S?AVPF?(?: \d{1,3}){1,64}|application \d{1,5} (?:(?:UDP|TCP)\/)?DTLS\/SCTP (?:webrtc-datachannel|\d{1,5}))$/;
const CANDIDATE =
  /^a=candidate:[\w+/]{1,32} [1-5] (?:udp|tcp|UDP|TCP) \d{1,10} [\w.:-]{1,255} \d{1,5} typ (?:host|srflx|prflx|relay)(?: [\w-]{1,32} [\w.:+/-]{1,255}){0,8}$/;
const SOURCE =
  /^a=(?:ssrc:\d{1,10} (?:cname|msid|mslabel|label):[\x20-\x7e]{1,512}|ssrc-group:(?:FID|SIM|FEC-FR)(?: \d{1,10}){1,6})$/;
const OTHERS: readonly RegExp[] = [
  /^v=0$/,
  /^o=[\w!#$%&*+.^{|}~-]{1,64} \d{1,20} \d{1,20} IN IP[46] [\w.:-]{1,255}$/,
  /^s=[\x20-\x7e]{1,64}$/,
  /^t=\d{1,20} \d{1,20}$/,
  /^c=IN IP[46] [\w.:-]{1,255}$/,
  /^b=(?:AS|CT|TIAS):\d{1,10}$/,
  /^a=group:BUNDLE(?: [\w-]{1,32}){0,8}$/,
  /^a=msid-semantic: ?WMS(?: [\w!#$%&*+.^{|}~-]{1,64}){0,8}$/,
  /^a=fingerprint:sha-(?:1|224|256|384|512) [\dA-Fa-f]{2}(?::[\dA-Fa-f]{2}){19,63}$/,
  /^a=setup:(?:actpass|active|passive)$/,
  /^a=ice-ufrag:[\w+/]{4,256}$/,
  /^a=ice-pwd:[\w+/]{22,256}$/,
  /^a=ice-options:[\w!#$%&*+.^{|}~-]{1,64}(?: [\w!#$%&*+.^{|}~-]{1,64}){0,4}$/,
  /^a=mid:[\w-]{1,32}$/,
  /^a=extmap:\d{1,3}(?:\/(?:sendrecv|sendonly|recvonly|inactive))? [\x21-\x7e]{1,256}$/,
  /^a=(?:sendrecv|sendonly|recvonly|inactive|end-of-candidates|extmap-allow-mixed|rtcp-mux|rtcp-rsize|bundle-only)$/,
  /^a=msid:[\w!#$%&*+.^{|}~-]{1,64}(?: [\w{}-]{1,64})?$/,
  /^a=rtcp:\d{1,5} IN IP[46] [\w.:-]{1,255}$/,
  /^a=rtpmap:\d{1,3} [\w!#$%&*+.^{|}~-]{1,64}\/\d{3,6}(?:\/[1-8])?$/,
  /^a=(?:rtcp-fb:(?:\d{1,3}|\*)|fmtp:\d{1,3}) [\x20-\x7e]{1,512}$/,
  /^a=(?:ptime|maxptime):\d{1,4}$/,
  /^a=sctp-port:\d{1,5}$/,
  /^a=sctpmap:\d{1,5} webrtc-datachannel \d{1,5}$/,
  /^a=max-message-size:\d{1,12}$/,
];

/** The filtered offer; null if one of its media sections has no known form, or it is too large. */
export function checkedOffer(sdp: string): string | null {
  if (sdp.length > LIMITS.chars) return null;
  const kept: string[] = [];
  const counts = { sections: 0, candidates: 0, sources: 0, others: 0 };
  for (const ended of sdp.split('\n')) {
    const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
    if (line.startsWith('m=') && !MEDIA.test(line)) return null;
    const kind = kindOf(line);
    if (kind === null) continue;
    if (kind === 'sections') Object.assign(counts, { others: 0, sections: counts.sections + 1 });
    else counts[kind]++;
    if (kind === 'sections' && counts.sections > LIMITS.sections) return null;
    if (counts[kind] <= LIMITS[kind]) kept.push(line);
  }
  return kept.join('\r\n').concat('\r\n');
}

function kindOf(line: string): 'sections' | 'candidates' | 'sources' | 'others' | null {
  if (line.length > LIMITS.lineChars) return null;
  if (line.startsWith('m=')) return 'sections';
  if (CANDIDATE.test(line)) return 'candidates';
  if (SOURCE.test(line)) return 'sources';
  return OTHERS.some((pattern) => pattern.test(line)) ? 'others' : null;
}
