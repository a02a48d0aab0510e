/**
 * Runs Flite, compiled to WebAssembly, like a command-line program: an in-memory WASI whose only file is the
 * one it writes. Each run needs an instance of its own, which can be prepared in advance: copying its voices
 * into memory takes longer than a short sentence.
 */

/** Result of one run. */
export interface FliteOutput {
  /** The speech it wrote as a WAV file; empty if it wrote none. */
  readonly samples: Int16Array<ArrayBuffer>;
  /** 0 if it wrote none, Hz. */
  readonly sampleRateHz: number;
  readonly stdout: string;
}

const ERRNO_SUCCESS = 0;
const ERRNO_BADF = 8;
const ERRNO_SPIPE = 29;
const PREOPENED_FD = 3;
const FIRST_FILE_FD = 10;
const FILETYPE_CHARACTER_DEVICE = 2;
const FILETYPE_DIRECTORY = 3;
const FILETYPE_REGULAR_FILE = 4;
const ALL_RIGHTS = 0xffff_ffff_ffff_ffffn;

/** The WAV file that Flite writes: one header, then 16-bit mono samples. */
const WAV_HEADER_BYTES = 44;
const WAV_RATE_OFFSET = 24;

/** Thrown out of WebAssembly by `proc_exit`. */
class Exit {}

/** A loaded program that can be run once. */
export class FliteRun {
  readonly #instance: WebAssembly.Instance;
  readonly #memory: WebAssembly.Memory;
  readonly #file = new MemoryFile();
  #stdout = '';
  #argv: Uint8Array[] = [];

  constructor(module: WebAssembly.Module) {
    this.#instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: this.#imports() });
    this.#memory = this.#instance.exports['memory'] as WebAssembly.Memory;
  }

  /** Runs to the end, blocking. Throws `WebAssembly.RuntimeError` if the program traps. */
  run(args: readonly string[]): FliteOutput {
    this.#argv = ['flite', ...args].map((argument) => new TextEncoder().encode(`${argument}\0`));
    try {
      (this.#instance.exports['_start'] as () => void)();
    } catch (error) {
      if (!(error instanceof Exit)) throw error;
    }
    return { ...samplesOf(this.#file.contents()), stdout: this.#stdout };
  }

  get #view(): DataView {
    return new DataView(this.#memory.buffer);
  }

  get #bytes(): Uint8Array {
    return new Uint8Array(this.#memory.buffer);
  }

  #imports(): WebAssembly.ModuleImports {
    return { ...this.#environmentCalls(), ...this.#descriptorCalls(), ...this.#fileCalls() };
  }

  #environmentCalls(): WebAssembly.ModuleImports {
    return {
      args_sizes_get: (countAt: number, sizeAt: number) => {
        this.#view.setUint32(countAt, this.#argv.length, true);
        this.#view.setUint32(
          sizeAt,
          this.#argv.reduce((sum, argument) => sum + argument.length, 0),
          true,
        );
        return ERRNO_SUCCESS;
      },
      args_get: (pointersAt: number, textAt: number) => {
        let position = textAt;
        for (const [index, argument] of this.#argv.entries()) {
          this.#view.setUint32(pointersAt + 4 * index, position, true);
          this.#bytes.set(argument, position);
          position += argument.length;
        }
        return ERRNO_SUCCESS;
      },
      clock_time_get: (_clock: number, _precision: bigint, resultAt: number) => {
        this.#view.setBigUint64(resultAt, 0n, true);
        return ERRNO_SUCCESS;
      },
      proc_exit: () => {
        throw new Exit();
      },
    };
  }

  #descriptorCalls(): WebAssembly.ModuleImports {
    return {
      fd_close: () => ERRNO_SUCCESS,
      fd_fdstat_set_flags: () => ERRNO_SUCCESS,
      fd_fdstat_get: (fd: number, resultAt: number) => {
        this.#bytes.fill(0, resultAt, resultAt + 24);
        this.#bytes[resultAt] =
          fd === PREOPENED_FD
            ? FILETYPE_DIRECTORY
            : fd < PREOPENED_FD
              ? FILETYPE_CHARACTER_DEVICE
              : FILETYPE_REGULAR_FILE;
        this.#view.setBigUint64(resultAt + 8, ALL_RIGHTS, true);
        this.#view.setBigUint64(resultAt + 16, ALL_RIGHTS, true);
        return ERRNO_SUCCESS;
      },
      fd_prestat_get: (fd: number, resultAt: number) => {
        if (fd !== PREOPENED_FD) return ERRNO_BADF;
        this.#view.setUint8(resultAt, 0);
        this.#view.setUint32(resultAt + 4, 1, true);
        return ERRNO_SUCCESS;
      },
      fd_prestat_dir_name: (_fd: number, pathAt: number) => {
        this.#bytes[pathAt] = '/'.charCodeAt(0);
        return ERRNO_SUCCESS;
      },
    };
  }

  #fileCalls(): WebAssembly.ModuleImports {
    return {
      path_open: (...args: readonly unknown[]) => {
        this.#view.setUint32(args[8] as number, FIRST_FILE_FD, true);
        return ERRNO_SUCCESS;
      },
      fd_read: (_fd: number, _vectorsAt: number, _count: number, resultAt: number) => {
        this.#view.setUint32(resultAt, 0, true);
        return ERRNO_SUCCESS;
      },
      fd_seek: (fd: number, offset: bigint, whence: number, resultAt: number) => {
        if (fd !== FIRST_FILE_FD) return ERRNO_SPIPE;
        this.#view.setBigUint64(resultAt, BigInt(this.#file.seek(Number(offset), whence)), true);
        return ERRNO_SUCCESS;
      },
      fd_write: (fd: number, vectorsAt: number, count: number, resultAt: number) => {
        let written = 0;
        for (let index = 0; index < count; index++) {
          const at = this.#view.getUint32(vectorsAt + 8 * index, true);
          const length = this.#view.getUint32(vectorsAt + 8 * index + 4, true);
          const bytes = this.#bytes.subarray(at, at + length);
          if (fd === FIRST_FILE_FD) this.#file.write(bytes);
          else this.#stdout += Buffer.from(bytes).toString('latin1');
          written += length;
        }
        this.#view.setUint32(resultAt, written, true);
        return ERRNO_SUCCESS;
      },
    };
  }
}

/** A growing file with a position. */
class MemoryFile {
  #buffer = Buffer.alloc(64 * 1024);
  #length = 0;
  #position = 0;

  write(bytes: Uint8Array): void {
    const end = this.#position + bytes.length;
    if (end > this.#buffer.length)
      this.#buffer = Buffer.concat([this.#buffer], Math.max(end, 2 * this.#buffer.length));
    this.#buffer.set(bytes, this.#position);
    this.#position = end;
    this.#length = Math.max(this.#length, end);
  }

  /** `whence`: 0 from the start, 1 from the position, 2 from the end. Returns the new position. */
  seek(offset: number, whence: number): number {
    const base = whence === 0 ? 0 : whence === 1 ? this.#position : this.#length;
    this.#position = Math.max(0, base + offset);
    return this.#position;
  }

  contents(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}

function samplesOf(wav: Buffer): Pick<FliteOutput, 'samples' | 'sampleRateHz'> {
  const samples = new Int16Array(Math.max(0, (wav.length - WAV_HEADER_BYTES) >> 1));
  for (let index = 0; index < samples.length; index++)
    samples[index] = wav.readInt16LE(WAV_HEADER_BYTES + 2 * index);
  return { samples, sampleRateHz: wav.length >= WAV_HEADER_BYTES ? wav.readUInt32LE(WAV_RATE_OFFSET) : 0 };
}
