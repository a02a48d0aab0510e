/** JSON with free content by a tenant or visitor: its size and depth are limited, its keys are not. Pure. */
import type { z } from 'zod';
import { LIMITS } from '#config/limits.ts';

/** A check for a schema: at most this many bytes of JSON, and at most `LIMITS.jsonDepth` levels. */
export function freeJson(mostBytes: number): (value: unknown, check: z.RefinementCtx) => void {
  return (value, check) => {
    // Depth first: serialising deeply nested values overflows the stack.
    if (isDeeperThan(value, LIMITS.jsonDepth))
      check.addIssue({ code: 'custom', message: `must be at most ${LIMITS.jsonDepth} levels deep` });
    else if (Buffer.byteLength(JSON.stringify(value) ?? '') > mostBytes)
      check.addIssue({ code: 'custom', message: `must be at most ${mostBytes} bytes of JSON` });
  };
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Array.isArray(value) ? value : Object.values(value))
    if (isDeeperThan(inner, levels - 1)) return true;
  return false;
}
