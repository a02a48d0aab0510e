/**
 * Messages of Azure's speech protocol: headers in the form of HTTP, an empty line, and a body. A binary
 * message has the length of its headers in its first two bytes, and no empty line.
 *
 * Source: Microsoft's page "Speech Service WebSocket protocol", sections "Message types" and
 * "Client-originated messages".
 */

const END_OF_HEADERS = '\r\n\r\n';
/** The vendor's own limit. */
const MAX_HEADER_CHARS = 8_192;

/** The headers that every message of a client has. */
export interface AzureHeaders {
  readonly path: string;
  /** A UUID without dashes. */
  readonly requestId: string;
  /** Ms since 1970. */
  readonly sentAt: number;
}

/** A message of the vendor. */
export interface AzureMessage {
  /** In lower case. */
  readonly path: string;
  readonly requestId: string;
  readonly body: string;
}

/** A text message with a JSON body. */
export function textMessage(headers: AzureHeaders, body: object): string {
  return `${headerLines(headers, 'application/json; charset=utf-8')}\r\n${JSON.stringify(body)}`;
}

/** A binary message with audio; without any it ends the audio of its request. */
export function audioMessage(headers: Omit<AzureHeaders, 'path'>, audio: Uint8Array): Buffer {
  const lines = headerLines({ ...headers, path: 'audio' }, 'audio/x-wav');
  const message = Buffer.alloc(2 + lines.length + audio.length);
  message.writeUInt16BE(lines.length, 0);
  message.write(lines, 2, 'latin1');
  message.set(audio, 2 + lines.length);
  return message;
}

/** Reads a text message; null if it has no headers, or too long ones. */
export function readMessage(text: string): AzureMessage | null {
  const end = text.indexOf(END_OF_HEADERS);
  const lines = end < 0 ? text : text.slice(0, end);
  if (lines.length > MAX_HEADER_CHARS) return null;
  const headers = new Map(lines.split('\r\n').map(headerOf));
  const path = headers.get('path');
  if (!path) return null;
  return {
    path: path.toLowerCase(),
    requestId: headers.get('x-requestid')?.toLowerCase() ?? '',
    body: end < 0 ? '' : text.slice(end + END_OF_HEADERS.length),
  };
}

function headerLines({ path, requestId, sentAt }: AzureHeaders, contentType: string): string {
  return (
    `Path: ${path}\r\nX-RequestId: ${requestId}\r\n` +
    `X-Timestamp: ${new Date(sentAt).toISOString()}\r\nContent-Type: ${contentType}\r\n`
  );
}

function headerOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, Math.max(0, colon)).trim().toLowerCase(), line.slice(colon + 1).trim()];
}
