/**
 * A Vite plugin that writes Brotli and gzip versions next to every built text file. The server sends them
 * unchanged (control-plane/operations/site).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

const TEXT = /\.(?:js|css|html)$/;
/**
 * Larger files are compressed with less effort: reducing their size by another tenth would add ten seconds to
 * an installation.
 */
const FULL_EFFORT_BYTES = 64 * 1_024;
const LESS_EFFORT = 9;

export function precompressed(): Plugin {
  return {
    name: 'precompressed',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const outputs = Object.values(bundle).filter(({ fileName }) => TEXT.test(fileName));
      await Promise.all(
        outputs.map(async (output) => {
          const content = Buffer.from(output.type === 'chunk' ? output.code : output.source);
          await Promise.all([
            writeFile(join(dir, `${output.fileName}.br`), await brotli(content)),
            writeFile(
              join(dir, `${output.fileName}.gz`),
              await promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }),
            ),
          ]);
        }),
      );
    },
  };
}

function brotli(content: Buffer): Promise<Buffer> {
  const quality = content.length <= FULL_EFFORT_BYTES ? constants.BROTLI_MAX_QUALITY : LESS_EFFORT;
  return promisify(brotliCompress)(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
}
