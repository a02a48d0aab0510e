/**
 * Silero v5 for batches: the weights of the published model as a few matrices. That model's convolutions run
 * over four positions in time, which leaves the runtime a tiny product per stream of a batch. Over so few
 * positions a convolution is equivalent to one matrix, so that a batch needs one product with it. The same
 * function with other rounding, in about a third of the time.
 */
import { type OnnxNode, type OnnxTensor, readConstants, writeModel } from './onnx-file.ts';

/** Width of the recurrent layer. */
const HIDDEN = 128;
/** State of one stream: `h` and `c` of the recurrent layer, concatenated. */
export const STATE_WIDTH = 2 * HIDDEN;
/** Positions in a window where its spectrum is taken. Each overlaps half of the one before. */
export const FRAMES = 4;
/** The encoder's convolutions: kernels of three, padded with one zero at each end. */
const STRIDES: readonly number[] = [1, 2, 2, 1];
const KERNEL = 3;

/**
 * The model for one rate as a file: inputs `input` (by frame) and `state`, outputs `output` and `stateN` (by
 * stream).
 */
export function batchModel(published: Uint8Array, rateHz: 8000 | 16_000): Uint8Array {
  const constants = readConstants(published);
  const weight = (name: string): OnnxTensor => {
    const found = constants.get(`If_0_${rateHz === 16_000 ? 'then' : 'else'}_branch__Inline_0__${name}`);
    if (!found) throw new Error(`the speech model has no ${name}`);
    return found;
  };
  const waves = weight('stft.forward_basis_buffer');
  const used: Record<string, OnnxTensor> = { waves: transposed(waves) };
  const nodes: OnnxNode[] = [
    { op: 'MatMul', inputs: ['input', 'waves'], outputs: ['spectrum'] },
    { op: 'Split', inputs: ['spectrum'], outputs: ['cosines', 'sines'], attributes: { axis: 2 } },
    { op: 'Mul', inputs: ['cosines', 'cosines'], outputs: ['cosines2'] },
    { op: 'Mul', inputs: ['sines', 'sines'], outputs: ['sines2'] },
    { op: 'Add', inputs: ['cosines2', 'sines2'], outputs: ['power'] },
    { op: 'Sqrt', inputs: ['power'], outputs: ['magnitude'] },
    { op: 'Flatten', inputs: ['magnitude'], outputs: ['encoded0'], attributes: { axis: 1 } },
  ];
  let places = FRAMES;
  for (const [layer, stride] of STRIDES.entries()) {
    const [kernel, bias] = [
      weight(`encoder.${layer}.reparam_conv.weight`),
      weight(`encoder.${layer}.reparam_conv.bias`),
    ];
    const next = Math.ceil(places / stride);
    used[`kernel${layer}`] = convolutionMatrix(kernel, places, next, stride);
    used[`bias${layer}`] = repeated(bias.data, next);
    nodes.push(
      { op: 'Gemm', inputs: [`encoded${layer}`, `kernel${layer}`, `bias${layer}`], outputs: [`sum${layer}`] },
      { op: 'Relu', inputs: [`sum${layer}`], outputs: [`encoded${layer + 1}`] },
    );
    places = next;
  }
  used['gates'] = gateMatrix(weight('decoder.rnn.weight_ih').data, weight('decoder.rnn.weight_hh').data);
  const [inBias, hiddenBias] = [weight('decoder.rnn.bias_ih').data, weight('decoder.rnn.bias_hh').data];
  used['gateBias'] = { dims: [inBias.length], data: inBias.map((value, n) => value + (hiddenBias[n] ?? 0)) };
  used['verdict'] = { dims: [HIDDEN, 1], data: weight('decoder.decoder.2.weight').data };
  used['verdictBias'] = { dims: [1], data: weight('decoder.decoder.2.bias').data };
  nodes.push(
    { op: 'Split', inputs: ['state'], outputs: ['h', 'c'], attributes: { axis: 1 } },
    { op: 'Concat', inputs: [`encoded${STRIDES.length}`, 'h'], outputs: ['heard'], attributes: { axis: 1 } },
    { op: 'Gemm', inputs: ['heard', 'gates', 'gateBias'], outputs: ['gateSums'] },
    // In the order of the weights: input, forget, cell, output.
    { op: 'Split', inputs: ['gateSums'], outputs: ['i', 'f', 'g', 'o'], attributes: { axis: 1 } },
    { op: 'Sigmoid', inputs: ['i'], outputs: ['in'] },
    { op: 'Sigmoid', inputs: ['f'], outputs: ['kept'] },
    { op: 'Tanh', inputs: ['g'], outputs: ['new'] },
    { op: 'Sigmoid', inputs: ['o'], outputs: ['out'] },
    { op: 'Mul', inputs: ['kept', 'c'], outputs: ['old'] },
    { op: 'Mul', inputs: ['in', 'new'], outputs: ['added'] },
    { op: 'Add', inputs: ['old', 'added'], outputs: ['cN'] },
    { op: 'Tanh', inputs: ['cN'], outputs: ['cell'] },
    { op: 'Mul', inputs: ['out', 'cell'], outputs: ['hN'] },
    { op: 'Concat', inputs: ['hN', 'cN'], outputs: ['stateN'], attributes: { axis: 1 } },
    { op: 'Relu', inputs: ['hN'], outputs: ['decoded'] },
    { op: 'Gemm', inputs: ['decoded', 'verdict', 'verdictBias'], outputs: ['verdictSum'] },
    { op: 'Sigmoid', inputs: ['verdictSum'], outputs: ['output'] },
  );
  return writeModel({
    inputs: { input: [FRAMES, waves.dims[2] ?? 0], state: [STATE_WIDTH] },
    outputs: { output: [1], stateN: [STATE_WIDTH] },
    constants: used,
    nodes,
  });
}

/** Transposes waves by sample to samples by wave. */
function transposed({ dims, data }: OnnxTensor): OnnxTensor {
  const [waves = 0, , length = 0] = dims;
  return {
    dims: [length, waves],
    data: Float32Array.from(data, (_, n) => data[(n % waves) * length + Math.floor(n / waves)] ?? 0),
  };
}

/** A convolution over `places` positions as one matrix; the channels of one position are adjacent. */
function convolutionMatrix(
  { dims, data }: OnnxTensor,
  places: number,
  nextPlaces: number,
  stride: number,
): OnnxTensor {
  const [to = 0, from = 0] = dims;
  const columns = nextPlaces * to;
  const matrix = new Float32Array(places * from * columns);
  for (let next = 0; next < nextPlaces; next++) {
    for (let tap = 0; tap < KERNEL; tap++) {
      const place = next * stride + tap - 1;
      if (place < 0 || place >= places) continue;
      for (let channel = 0; channel < from; channel++) {
        for (let out = 0; out < to; out++) {
          matrix[(place * from + channel) * columns + next * to + out] =
            data[(out * from + channel) * KERNEL + tap] ?? 0;
        }
      }
    }
  }
  return { dims: [places * from, columns], data: matrix };
}

function repeated(values: Float32Array, times: number): OnnxTensor {
  const length = times * values.length;
  return { dims: [length], data: Float32Array.from({ length }, (_, n) => values[n % values.length] ?? 0) };
}

/** Both weights of the recurrent layer, stacked. */
function gateMatrix(ofInput: Float32Array, ofHidden: Float32Array): OnnxTensor {
  const columns = 4 * HIDDEN;
  const matrix = new Float32Array(2 * HIDDEN * columns);
  for (let gate = 0; gate < columns; gate++) {
    for (let n = 0; n < HIDDEN; n++) {
      matrix[n * columns + gate] = ofInput[gate * HIDDEN + n] ?? 0;
      matrix[(HIDDEN + n) * columns + gate] = ofHidden[gate * HIDDEN + n] ?? 0;
    }
  }
  return { dims: [2 * HIDDEN, columns], data: matrix };
}
