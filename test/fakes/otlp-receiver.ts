/**
 * A trace collector on the loopback: accepts OTLP over HTTP in protobuf (opentelemetry-proto v1,
 * `ExportTraceServiceRequest`) and keeps the spans. It parses the wire format itself, independently of the
 * library that wrote it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A span as received. */
export interface ReceivedSpan {
  /** `service.name` of the span's resource. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Null for the root of a trace. */
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: number;
  /** Whole milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, AnyValue>>;
  /** Trace ids of the span's links. */
  readonly links: readonly string[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
}

type AnyValue = string | number | boolean | null | readonly AnyValue[];

/** A running collector. */
export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  close(): Promise<void>;
}

/** Opens a collector on a free port. Requests other than trace exports are answered 400 and not kept. */
export async function openOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isExport =
        request.method === 'POST' &&
        request.url === '/v1/traces' &&
        request.headers['content-type'] === 'application/x-protobuf';
      const body = Buffer.concat(chunks);
      if (isExport)
        spans.push(...readExport(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
      // An empty `ExportTraceServiceResponse` has no bytes.
      response.writeHead(isExport ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A message field: a number for varint and fixed64, bytes for length-delimited types. */
type Field = { readonly number: number; readonly value: bigint | Buffer };

/** Fields of a protobuf message, in order (protobuf encoding, "Message Structure"). */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    const wireType = tag & 7;
    if (wireType === 0) fields.push({ number, value: varint() });
    else if (wireType === 1) {
      fields.push({ number, value: message.readBigUInt64LE(at) });
      at += 8;
    } else if (wireType === 2) {
      const length = Number(varint());
      fields.push({ number, value: message.subarray(at, at + length) });
      at += length;
    } else if (wireType === 5) {
      fields.push({ number, value: BigInt(message.readUInt32LE(at)) });
      at += 4;
    } else throw new Error(`wire type ${wireType}`);
  }
  return fields;
}

function bytesOf(message: Buffer, number: number): Buffer[] {
  return fieldsOf(message).flatMap((field) =>
    field.number === number && Buffer.isBuffer(field.value) ? [field.value] : [],
  );
}

function numberOf(message: Buffer, number: number): bigint {
  const found = fieldsOf(message).find((field) => field.number === number)?.value;
  return typeof found === 'bigint' ? found : 0n;
}

function textOf(message: Buffer, number: number, encoding: BufferEncoding = 'utf8'): string {
  return bytesOf(message, number)[0]?.toString(encoding) ?? '';
}

function readExport(body: Buffer): ReceivedSpan[] {
  return bytesOf(body, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(bytesOf(resourceSpans, 1)[0] ?? Buffer.alloc(0), 1);
    return bytesOf(resourceSpans, 2).flatMap((scopeSpans) =>
      bytesOf(scopeSpans, 2).map((span) => readSpan(span, String(resource['service.name']))),
    );
  });
}

function readSpan(span: Buffer, service: string): ReceivedSpan {
  const parentId = textOf(span, 4, 'hex');
  return {
    service,
    traceId: textOf(span, 1, 'hex'),
    spanId: textOf(span, 2, 'hex'),
    parentId: parentId === '' ? null : parentId,
    name: textOf(span, 5),
    kind: Number(numberOf(span, 6)),
    startMs: Math.round(Number(numberOf(span, 7)) / 1e6),
    endMs: Math.round(Number(numberOf(span, 8)) / 1e6),
    attributes: attributesOf(span, 9),
    links: bytesOf(span, 13).map((link) => textOf(link, 1, 'hex')),
    status: Number(numberOf(bytesOf(span, 15)[0] ?? Buffer.alloc(0), 3)),
  };
}

/** `KeyValue` entries in a field of a message. */
function attributesOf(message: Buffer, number: number): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    bytesOf(message, number).map((pair) => [
      textOf(pair, 1),
      anyValueOf(bytesOf(pair, 2)[0] ?? Buffer.alloc(0)),
    ]),
  );
}

/** `AnyValue`: string, bool, int, double or an array of them; null for any other type. */
function anyValueOf(any: Buffer): AnyValue {
  const [field] = fieldsOf(any);
  if (!field) return null;
  if (Buffer.isBuffer(field.value)) {
    if (field.number === 5) return bytesOf(field.value, 1).map(anyValueOf);
    return field.number === 1 ? field.value.toString('utf8') : null;
  }
  if (field.number === 2) return field.value !== 0n;
  if (field.number === 3) return Number(BigInt.asIntN(64, field.value));
  if (field.number !== 4) return null;
  const bits = Buffer.alloc(8);
  bits.writeBigUInt64LE(field.value);
  return bits.readDoubleLE();
}
