/**
 * A language model of 80,000 random weights in llama.cpp's file format (GGUF version 3,
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): real to the program, and says nothing sensible.
 */

const CONTEXT_TOKENS = 2_048;
const WIDTH = 64;
const FEED_FORWARD = 128;
/** Three control tokens, then one token for each byte. */
const TOKENS = ['<unk>', '<s>', '</s>', ...Array.from({ length: 256 }, (_, byte) => byteToken(byte))];
/** UNKNOWN, CONTROL, CONTROL, BYTE… */
const TOKEN_TYPES = TOKENS.map((_, index) => [2, 3, 3][index] ?? 6);
const ALIGNMENT = 32;
/** Value types of metadata. */
const [U32, I32, F32, STRING, ARRAY] = [4, 5, 6, 8, 9];

type Shape = readonly [number] | readonly [number, number];

/** The file; its context has 2,048 tokens. */
export function tinyGguf(): Buffer {
  const metadata = [
    text('general.architecture', 'llama'),
    ...[
      ['llama.context_length', CONTEXT_TOKENS],
      ['llama.embedding_length', WIDTH],
      ['llama.block_count', 1],
      ['llama.feed_forward_length', FEED_FORWARD],
      ['llama.attention.head_count', 4],
    ].map(([key, value]) => entry(String(key), U32, u32(Number(value)))),
    entry('llama.attention.layer_norm_rms_epsilon', F32, f32(1e-5)),
    text('tokenizer.ggml.model', 'llama'),
    list('tokenizer.ggml.tokens', STRING, TOKENS.map(string)),
    list(
      'tokenizer.ggml.scores',
      F32,
      TOKENS.map(() => f32(0)),
    ),
    list('tokenizer.ggml.token_type', I32, TOKEN_TYPES.map(u32)),
  ];
  const tensors = Object.entries<Shape>({
    'token_embd.weight': [WIDTH, TOKENS.length],
    'output_norm.weight': [WIDTH],
    'output.weight': [WIDTH, TOKENS.length],
    'blk.0.attn_norm.weight': [WIDTH],
    'blk.0.ffn_norm.weight': [WIDTH],
    'blk.0.attn_q.weight': [WIDTH, WIDTH],
    'blk.0.attn_k.weight': [WIDTH, WIDTH],
    'blk.0.attn_v.weight': [WIDTH, WIDTH],
    'blk.0.attn_output.weight': [WIDTH, WIDTH],
    'blk.0.ffn_gate.weight': [WIDTH, FEED_FORWARD],
    'blk.0.ffn_up.weight': [WIDTH, FEED_FORWARD],
    'blk.0.ffn_down.weight': [FEED_FORWARD, WIDTH],
  });
  let offset = 0;
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  for (const [name, shape] of tensors) {
    const weights = padded(weightsOf(shape));
    infos.push(string(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset));
    data.push(weights);
    offset += weights.length;
  }
  const head = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.length)];
  return Buffer.concat([padded(Buffer.concat([...head, ...metadata, ...infos])), ...data]);
}

/** Norms are 1; the others a fixed pseudo-random sequence. */
function weightsOf(shape: Shape): Buffer {
  const count = shape.reduce<number>((product, size) => product * size, 1);
  const weights = Float32Array.from({ length: count }, (_, index) =>
    shape.length === 1 ? 1 : Math.sin(index * 12.9898 + count) * 0.05,
  );
  return Buffer.from(weights.buffer);
}

function entry(key: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([string(key), u32(type), value]);
}

function text(key: string, value: string): Buffer {
  return entry(key, STRING, string(value));
}

function list(key: string, type: number, values: readonly Buffer[]): Buffer {
  return entry(key, ARRAY, Buffer.concat([u32(type), u64(values.length), ...values]));
}

function string(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT)]);
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}
