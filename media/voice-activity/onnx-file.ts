/**
 * The part of the ONNX file format (onnx.proto3, protocol buffers) needed to read a model's constants and to
 * write a small model. Pure.
 */

/** A tensor of 32-bit floats. */
export interface OnnxTensor {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

/** An operator: names of its inputs and outputs, and its integer attributes. */
export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, number>>;
}

/** A model of batches: each input and output with its dimensions after the first, which may have any size. */
export interface OnnxGraph {
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly outputs: Readonly<Record<string, readonly number[]>>;
  readonly constants: Readonly<Record<string, OnnxTensor>>;
  readonly nodes: readonly OnnxNode[];
}

const IR_VERSION = 8;
const OPSET_VERSION = 13;
const FLOAT = 1;
const INT_ATTRIBUTE = 2;
/** Field numbers of the messages. */
const MODEL = { irVersion: 1, graph: 7, opset: 8 };
const GRAPH = { node: 1, name: 2, constant: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, op: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, int: 3, tensor: 5, graph: 6, type: 20 };
const TENSOR = { dims: 1, type: 2, name: 8, raw: 9 };

/**
 * The float constants of a model by name, including those of nested graphs. Throws `RangeError` if it is not
 * such a file.
 */
export function readConstants(file: Uint8Array): Map<string, OnnxTensor> {
  const constants = new Map<string, OnnxTensor>();
  for (const graph of parts(file, MODEL.graph)) collect(graph, constants);
  return constants;
}

function collect(graph: Uint8Array, constants: Map<string, OnnxTensor>): void {
  for (const node of parts(graph, GRAPH.node)) {
    const name = outputOf(node);
    for (const attribute of parts(node, NODE.attribute)) {
      for (const nested of parts(attribute, ATTRIBUTE.graph)) collect(nested, constants);
      for (const tensor of parts(attribute, ATTRIBUTE.tensor)) {
        const read = floatTensor(tensor);
        if (read) constants.set(name, read);
      }
    }
  }
}

/** Name of a node's last output: for a constant, its own name. */
function outputOf(node: Uint8Array): string {
  let name = '';
  for (const output of parts(node, NODE.output)) name = new TextDecoder().decode(output);
  return name;
}

/** The messages in a field of another message. */
function* parts(message: Uint8Array, wanted: number): Generator<Uint8Array> {
  for (const [field, value] of fields(message)) if (field === wanted) yield bytesOf(value);
}

function floatTensor(message: Uint8Array): OnnxTensor | null {
  const dims: number[] = [];
  let [type, raw] = [0, new Uint8Array(0)];
  for (const [field, value] of fields(message)) {
    if (field === TENSOR.dims) dims.push(...(typeof value === 'number' ? [value] : varints(value)));
    if (field === TENSOR.type) type = Number(value);
    if (field === TENSOR.raw) raw = Uint8Array.from(bytesOf(value));
  }
  return type === FLOAT ? { dims, data: new Float32Array(raw.buffer, 0, raw.length / 4) } : null;
}

/** The fields of a message: number, and an integer or the contained bytes. */
function* fields(message: Uint8Array): Generator<[field: number, value: number | Uint8Array]> {
  const at = { offset: 0 };
  while (at.offset < message.length) {
    const key = varint(message, at);
    const [field, wire] = [key >>> 3, key & 7];
    if (wire === 0) yield [field, varint(message, at)];
    else {
      const length = wire === 2 ? varint(message, at) : wire === 5 ? 4 : 8;
      yield [field, message.subarray(at.offset, at.offset + length)];
      at.offset += length;
    }
  }
}

function* varints(bytes: Uint8Array): Generator<number> {
  for (const at = { offset: 0 }; at.offset < bytes.length; ) yield varint(bytes, at);
}

function varint(bytes: Uint8Array, at: { offset: number }): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at.offset++];
    if (byte === undefined) throw new RangeError('the model file ends in the middle of a number');
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
}

function bytesOf(value: number | Uint8Array): Uint8Array {
  if (typeof value === 'number') throw new RangeError('the model file has a number where a message belongs');
  return value;
}

/** Writes a model as a file. */
export function writeModel(graph: OnnxGraph): Uint8Array {
  const inputs = Object.entries(graph.inputs).map(([name, dims]) =>
    message(GRAPH.input, batchOf(name, dims)),
  );
  const outputs = Object.entries(graph.outputs).map(([name, dims]) =>
    message(GRAPH.output, batchOf(name, dims)),
  );
  const constants = Object.entries(graph.constants).map(([name, tensor]) =>
    message(GRAPH.constant, tensorBytes(name, tensor)),
  );
  const nodes = graph.nodes.map((node) => message(GRAPH.node, nodeBytes(node)));
  const body = Buffer.concat([...nodes, text(GRAPH.name, 'graph'), ...constants, ...inputs, ...outputs]);
  return Buffer.concat([
    number(MODEL.irVersion, IR_VERSION),
    message(MODEL.graph, body),
    message(MODEL.opset, number(2, OPSET_VERSION)),
  ]);
}

function nodeBytes({ op, inputs, outputs, attributes = {} }: OnnxNode): Buffer {
  const all = Object.entries(attributes).map(([name, value]) =>
    message(
      NODE.attribute,
      Buffer.concat([
        text(ATTRIBUTE.name, name),
        number(ATTRIBUTE.int, value),
        number(ATTRIBUTE.type, INT_ATTRIBUTE),
      ]),
    ),
  );
  return Buffer.concat([
    ...inputs.map((name) => text(NODE.input, name)),
    ...outputs.map((name) => text(NODE.output, name)),
    text(NODE.op, op),
    ...all,
  ]);
}

function tensorBytes(name: string, { dims, data }: OnnxTensor): Buffer {
  const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return Buffer.concat([
    ...dims.map((size) => number(TENSOR.dims, size)),
    number(TENSOR.type, FLOAT),
    text(TENSOR.name, name),
    message(TENSOR.raw, raw),
  ]);
}

/** ValueInfoProto of a float tensor. */
function batchOf(name: string, dims: readonly number[]): Buffer {
  const shape = Buffer.concat([
    message(1, text(2, 'batch')),
    ...dims.map((size) => message(1, number(1, size))),
  ]);
  return Buffer.concat([
    text(1, name),
    message(2, message(1, Buffer.concat([number(1, FLOAT), message(2, shape)]))),
  ]);
}

function number(field: number, value: number): Buffer {
  return Buffer.from([...varintOf(field << 3), ...varintOf(value)]);
}

function text(field: number, value: string): Buffer {
  return message(field, Buffer.from(value));
}

function message(field: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([...varintOf((field << 3) | 2), ...varintOf(content.length)]), content]);
}

function varintOf(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varintOf(Math.floor(value / 128))];
}
