/** A REGISTER of a phone, over drachtio-srf. */
import type Srf from 'drachtio-srf';
import { parseMessage } from '../embedded/message.ts';
import type { AnswerRegister, RegisterReply } from '../signalling.ts';
import { rawOf } from './plain-request.ts';

/** Passes it to the registrar, and sends what that answers. */
export async function answerIncoming(
  answer: AnswerRegister,
  {
    request,
    response,
    server,
  }: { readonly request: Srf.SrfRequest; readonly response: Srf.SrfResponse; readonly server: string },
): Promise<void> {
  const message = parseMessage(rawOf(request));
  const { source_port: port } = request as unknown as { readonly source_port: string | number };
  if (message?.start.kind !== 'request') {
    response.send(400);
    return;
  }
  const reply = await answer({
    uri: message.start.uri,
    headers: message.headers,
    sourceAddress: request.source_address,
    sourcePort: Number(port),
    transport: request.protocol.toLowerCase(),
    server,
  });
  response.send(reply.status, reply.reason, { headers: linesOf(reply.headers) });
}

/**
 * drachtio-srf writes one line for a name, but two challenges in one line are no valid header (RFC 3261
 * §7.3.1): the value of the first contains the further lines. None of the values can end a line itself.
 */
function linesOf(headers: RegisterReply['headers']): Record<string, string> {
  const lines: Record<string, string> = {};
  for (const { name, value } of headers) {
    const plain = value.replace(/[\r\n]/g, '');
    const before = lines[name];
    lines[name] = before === undefined ? plain : `${before}\r\n${name}: ${plain}`;
  }
  return lines;
}
