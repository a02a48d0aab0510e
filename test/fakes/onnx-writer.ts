/** Writes small ONNX models (onnx.proto3) for tests: float and integer tensors, and metadata. */

/** Element types of tensors. */
const ELEMENT = { float: 1, int64: 7 } as const;

/** A tensor of the model: its constants are little-endian. */
export interface Constant {
  readonly dims: readonly number[];
  readonly values: Float32Array | BigInt64Array;
}

/** An input or output; a dimension that is a name may have any size. */
export interface Port {
  readonly type: keyof typeof ELEMENT;
  readonly dims: readonly (number | string)[];
}

/** An operator; attributes are integers, or lists of them. */
export interface Operator {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
}

/** A model. */
export interface SmallModel {
  readonly inputs: Readonly<Record<string, Port>>;
  readonly outputs: Readonly<Record<string, Port>>;
  readonly constants: Readonly<Record<string, Constant>>;
  readonly operators: readonly Operator[];
  readonly metadata: Readonly<Record<string, string | number>>;
}

const IR_VERSION = 8;
const OPSET_VERSION = 13;

/** The model as a file. */
export function writeOnnx({ inputs, outputs, constants, operators, metadata }: SmallModel): Buffer {
  const graph = Buffer.concat([
    ...operators.map((operator) => message(1, operatorBytes(operator))),
    text(2, 'graph'),
    ...Object.entries(constants).map(([name, constant]) => message(5, constantBytes(name, constant))),
    ...Object.entries(inputs).map(([name, port]) => message(11, portBytes(name, port))),
    ...Object.entries(outputs).map(([name, port]) => message(12, portBytes(name, port))),
  ]);
  return Buffer.concat([
    integer(1, IR_VERSION),
    message(7, graph),
    message(8, integer(2, OPSET_VERSION)),
    ...Object.entries(metadata).map(([key, value]) =>
      message(14, Buffer.concat([text(1, key), text(2, String(value))])),
    ),
  ]);
}

function operatorBytes({ op, inputs, outputs, attributes = {} }: Operator): Buffer {
  return Buffer.concat([
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) =>
      message(
        5,
        Buffer.concat([
          text(1, name),
          ...(typeof value === 'number'
            ? [integer(3, value), integer(20, 2)]
            : [...value.map((item) => integer(8, item)), integer(20, 7)]),
        ]),
      ),
    ),
  ]);
}

function constantBytes(name: string, { dims, values }: Constant): Buffer {
  return Buffer.concat([
    ...dims.map((size) => integer(1, size)),
    integer(2, values instanceof Float32Array ? ELEMENT.float : ELEMENT.int64),
    text(8, name),
    message(9, Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
  ]);
}

function portBytes(name: string, { type, dims }: Port): Buffer {
  const shape = dims.map((size) => message(1, typeof size === 'number' ? integer(1, size) : text(2, size)));
  const tensor = Buffer.concat([integer(1, ELEMENT[type]), message(2, Buffer.concat(shape))]);
  return Buffer.concat([text(1, name), message(2, message(1, tensor))]);
}

function integer(field: number, value: number): Buffer {
  return Buffer.from([...varint(field << 3), ...varint(value)]);
}

function text(field: number, value: string): Buffer {
  return message(field, Buffer.from(value));
}

function message(field: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(content.length)]), content]);
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
}
