/** Loses packets on their way to a UDP port of this machine. Needs Linux, iptables and its administrator. */
import { spawnSync } from 'node:child_process';

/** The chain with the rule. By its name the next run finds what a run left that was killed. */
const CHAIN = 'parley-comparison';

/** Loses this share of the packets from now on. Returns how to undo it, or why it cannot be done here. */
export function losePackets(port: number, share: number): { undo(): void } | { readonly missing: string } {
  losePacketsNoMore();
  const rule = [
    ['--in-interface', 'lo', '--protocol', 'udp', '--dport', String(port)],
    ['--match', 'statistic', '--mode', 'random', '--probability', String(share), '--jump', 'DROP'],
  ].flat();
  const problem =
    iptables('--new-chain', CHAIN) ??
    iptables('--append', CHAIN, ...rule) ??
    iptables('--insert', 'INPUT', '--jump', CHAIN);
  if (problem === null) return { undo: losePacketsNoMore };
  losePacketsNoMore();
  return { missing: `iptables cannot lose packets here: ${problem}` };
}

/** Removes the rule, whichever run has made it; does nothing if there is none. */
export function losePacketsNoMore(): void {
  iptables('--delete', 'INPUT', '--jump', CHAIN);
  iptables('--flush', CHAIN);
  iptables('--delete-chain', CHAIN);
}

/** Why the command failed; null if it did not. */
function iptables(...command: readonly string[]): string | null {
  const { error, status, stderr } = spawnSync('iptables', ['--wait', ...command], { encoding: 'utf8' });
  if (!error && status === 0) return null;
  return (error?.message ?? stderr).trim().split('\n')[0] ?? '';
}
