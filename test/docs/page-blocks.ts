/**
 * The code blocks of a page. A shell block that a test runs as written begins with ```` ```sh run ````, which
 * GitHub shows like any other shell block.
 */

/** A fenced code block. */
export interface PageBlock {
  /** The first word after the fence; empty without one. */
  readonly language: string;
  readonly isRunnable: boolean;
  readonly code: string;
  /** Line of the fence, from 1. */
  readonly line: number;
}

/** The contents of a file that a shell block of these writes (`cat > NAME <<'END'`). Throws without one. */
export function fileIn(blocks: readonly PageBlock[], name: string): string {
  for (const { code } of blocks) {
    const [, contents] = code.split(`cat > ${name} <<'END'\n`);
    if (contents !== undefined) return contents.slice(0, contents.search(/^END$/m));
  }
  throw new Error(`no block writes ${name}`);
}

/** The blocks of a page in order. Only fences at the beginning of a line count. */
export function blocksOf(page: string): PageBlock[] {
  return [...page.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)].map(
    ({ 1: info = '', 2: code = '', index }) => {
      const [language = '', ...marks] = info.trim().split(/\s+/);
      const line = page.slice(0, index).split('\n').length;
      return { language, isRunnable: language === 'sh' && marks.includes('run'), code, line };
    },
  );
}
