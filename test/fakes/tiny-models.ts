/**
 * Small models that the real speech libraries load. The recogniser hears one fixed phrase in every utterance
 * that is louder than a threshold; the voice speaks a tone for each letter.
 */
import { type Constant, writeOnnx } from './onnx-writer.ts';

/** Frames of 10 ms per step of the recogniser; a phrase has at most as many words. */
const FRAMES = 8;
const FEATURES = 80;
/** Mean log energy between silence (-16) and speech. */
const THRESHOLD = -14;
/** What is left per step of the memory of the last loud one, and how much counts as the same utterance. */
const [FADING, SAME_UTTERANCE] = [0.9, 0.3];
const NEVER = -1_000;

/** Files of a streaming recogniser that hears `phrase` in every utterance after 0.9 s of silence, by name. */
export function tinyRecogniser(phrase: string): Record<string, Buffer> {
  const words = phrase.toUpperCase().split(' ');
  const tokens = ['<blk>', ...words.map((word) => `▁${word}`)];
  const size = tokens.length;
  const state = { type: 'float', dims: [1, 'N', 1] } as const;
  const encoder = writeOnnx({
    metadata: {
      model_type: 'lstm',
      num_encoder_layers: 1,
      T: FRAMES,
      decode_chunk_len: FRAMES,
      rnn_hidden_size: 1,
      d_model: 1,
    },
    inputs: { x: { type: 'float', dims: ['N', FRAMES, FEATURES] }, loudness: state, unused: state },
    outputs: {
      encoder_out: { type: 'float', dims: ['N', FRAMES, size] },
      next_loudness: state,
      next_unused: state,
    },
    constants: {
      threshold: floats([1], () => THRESHOLD),
      steep: floats([1], () => 50),
      one: floats([1], () => 1),
      two: floats([1], () => 2),
      fading: floats([1], () => FADING),
      same: floats([1], () => SAME_UTTERANCE),
      notBlank: floats([1, 1, size], (index) => (index === 0 ? 0 : 1)),
      // Each frame of a step can only be the word of its position.
      positions: floats([FRAMES, size], (index) => {
        const [frame, token] = [Math.floor(index / size), index % size];
        return token === 0 || token === frame + 1 ? 0 : NEVER;
      }),
    },
    operators: [
      { op: 'ReduceMean', inputs: ['x'], outputs: ['energies'], attributes: { axes: [2], keepdims: 1 } },
      { op: 'ReduceMax', inputs: ['energies'], outputs: ['energy'], attributes: { axes: [1], keepdims: 1 } },
      { op: 'Sub', inputs: ['energy', 'threshold'], outputs: ['above'] },
      { op: 'Mul', inputs: ['above', 'steep'], outputs: ['far_above'] },
      { op: 'Sigmoid', inputs: ['far_above'], outputs: ['is_loud'] },
      { op: 'Transpose', inputs: ['loudness'], outputs: ['before'], attributes: { perm: [1, 0, 2] } },
      { op: 'Sub', inputs: ['before', 'same'], outputs: ['since'] },
      { op: 'Mul', inputs: ['since', 'steep'], outputs: ['long_since'] },
      { op: 'Sigmoid', inputs: ['long_since'], outputs: ['continues'] },
      { op: 'Sub', inputs: ['one', 'continues'], outputs: ['is_new'] },
      { op: 'Mul', inputs: ['is_loud', 'is_new'], outputs: ['begins'] },
      { op: 'Mul', inputs: ['begins', 'two'], outputs: ['doubled'] },
      { op: 'Sub', inputs: ['doubled', 'one'], outputs: ['weight'] },
      { op: 'Mul', inputs: ['weight', 'notBlank'], outputs: ['weights'] },
      { op: 'Add', inputs: ['weights', 'positions'], outputs: ['encoder_out'] },
      { op: 'Mul', inputs: ['before', 'fading'], outputs: ['faded'] },
      { op: 'Max', inputs: ['is_loud', 'faded'], outputs: ['now'] },
      { op: 'Transpose', inputs: ['now'], outputs: ['next_loudness'], attributes: { perm: [1, 0, 2] } },
      { op: 'Identity', inputs: ['unused'], outputs: ['next_unused'] },
    ],
  });
  const decoder = writeOnnx({
    metadata: { context_size: 1, vocab_size: size },
    inputs: { y: { type: 'int64', dims: ['N', 1] } },
    outputs: { decoder_out: { type: 'float', dims: ['N', size] } },
    constants: { nothing: floats([size, size], () => 0) },
    operators: [
      { op: 'Gather', inputs: ['nothing', 'y'], outputs: ['rows'], attributes: { axis: 0 } },
      { op: 'ReduceMax', inputs: ['rows'], outputs: ['decoder_out'], attributes: { axes: [1], keepdims: 0 } },
    ],
  });
  const part = { type: 'float', dims: ['N', size] } as const;
  const joiner = writeOnnx({
    metadata: { joiner_dim: size },
    inputs: { encoder_out: part, decoder_out: part },
    outputs: { logit: part },
    constants: {},
    operators: [{ op: 'Add', inputs: ['encoder_out', 'decoder_out'], outputs: ['logit'] }],
  });
  return {
    'encoder.int8.onnx': encoder,
    'decoder.int8.onnx': decoder,
    'joiner.int8.onnx': joiner,
    'tokens.txt': Buffer.from(tokens.map((token, index) => `${token} ${index}\n`).join('')),
  };
}

/** Samples that the voice speaks per letter. */
export const SAMPLES_PER_LETTER = 800;
const LETTERS = ' .abcdefghijklmnopqrstuvwxyz';

/** Files of a voice of this language (as the model names it) at this rate, Hz, by name. */
export function tinyVoice(language: string, sampleRateHz: number): Record<string, Buffer> {
  const scalar = { type: 'float', dims: [1] } as const;
  const model = writeOnnx({
    metadata: {
      model_type: 'vits',
      comment: 'tiny',
      frontend: 'characters',
      language,
      sample_rate: sampleRateHz,
      n_speakers: 1,
      add_blank: 0,
      blank_id: 0,
      bos_id: 0,
      eos_id: 0,
      use_eos_bos: 0,
      pad_id: 0,
      punctuation: '.',
    },
    inputs: {
      x: { type: 'int64', dims: ['N', 'L'] },
      x_length: { type: 'int64', dims: ['N'] },
      noise_scale: scalar,
      length_scale: scalar,
      noise_scale_w: scalar,
    },
    outputs: { y: { type: 'float', dims: ['N', 1, 'S'] } },
    constants: {
      tone: floats([1, SAMPLES_PER_LETTER], (index) => 0.01 * Math.sin(index / 7)),
      one: floats([1], () => 1),
      column: { dims: [3], values: BigInt64Array.of(1n, -1n, 1n) },
      flat: { dims: [3], values: BigInt64Array.of(1n, 1n, -1n) },
    },
    operators: [
      { op: 'Cast', inputs: ['x'], outputs: ['letters'], attributes: { to: 1 } },
      { op: 'Add', inputs: ['letters', 'one'], outputs: ['loudness'] },
      { op: 'Reshape', inputs: ['loudness', 'column'], outputs: ['rows'] },
      { op: 'MatMul', inputs: ['rows', 'tone'], outputs: ['spoken'] },
      { op: 'Reshape', inputs: ['spoken', 'flat'], outputs: ['y'] },
    ],
  });
  return {
    'model.onnx': model,
    'tokens.txt': Buffer.from([...LETTERS].map((letter, index) => `${letter} ${index}\n`).join('')),
  };
}

function floats(dims: readonly number[], value: (index: number) => number): Constant {
  const count = dims.reduce((product, size) => product * size, 1);
  return { dims, values: Float32Array.from({ length: count }, (_, index) => value(index)) };
}
