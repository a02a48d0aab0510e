/**
 * Environment of a process that loads ONNX Runtime, which runs the speech detector. Since 1.29 it reports to
 * its maker unless told otherwise: the name and hash of the model, and a number that it gives this machine.
 */
export const NO_TELEMETRY: Readonly<Record<string, string>> = { ORT_DISABLE_TELEMETRY: '1' };
