/** A Vite plugin: beside every built file of text its Brotli and gzip forms, which the server hands out as they are (control-plane/site). */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

const TEXT = /\.(?:js|css|html)$/;

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
            writeFile(join(dir, `${output.fileName}.gz`), await promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION })),
          ]);
        }),
      );
    },
  };
}

function brotli(content: Buffer): Promise<Buffer> {
  const params = { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  return promisify(brotliCompress)(content, { params });
}
