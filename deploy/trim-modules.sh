#!/bin/sh
# Removes from node_modules what a container never uses: binaries for other platforms and for graphics cards,
# a second Node, and files for debuggers and compilers. Usage: trim-modules.sh <folder>
set -eu
cd "$1"
case "$(uname -m)" in
  x86_64) architecture=x64 ;;
  aarch64) architecture=arm64 ;;
  *) echo "no build of Parley's native packages for $(uname -m)" >&2; exit 1 ;;
esac
rm -rf node node-bin-* .bin/node
for binaries in onnxruntime-node/bin/*; do
  find "$binaries" -mindepth 1 -maxdepth 1 ! -name linux -exec rm -rf {} +
  find "$binaries/linux" -mindepth 1 -maxdepth 1 ! -name "$architecture" -exec rm -rf {} +
  find "$binaries" \( -name '*providers_cuda*' -o -name '*providers_tensorrt*' \) -delete
done
# Builds of the same packages for CommonJS, for browsers, and for engines without WebAssembly.
rm -rf gpt-tokenizer/cjs gpt-tokenizer/src gpt-tokenizer/data
rm -f @libav.js/variant-obsolete/dist/*.asm.*
find . -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
