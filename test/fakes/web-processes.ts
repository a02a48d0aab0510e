/** The processes of this one that serve web calls (`proc(5)`). */
import { readFileSync } from 'node:fs';

/** Their ids, the oldest first. */
export function webProcesses(): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.filter(isWebProcess).sort((a, b) => a - b);
}

function isWebProcess(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('media-thread-entry');
  } catch {
    // It has just ended.
    return false;
  }
}
