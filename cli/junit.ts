/** Results of tests as JUnit XML, which build servers read: a suite for each test, a case for each run. */

/** One suite. */
export interface JunitSuite {
  readonly name: string;
  readonly cases: readonly JunitCase[];
}

/** One case; `failure` and `error` exclude each other. */
export interface JunitCase {
  readonly name: string;
  readonly seconds: number;
  readonly failure: string | null;
  readonly error: string | null;
  /** Measured figures, for people. */
  readonly output: string;
}

/** Characters that XML 1.0 (section 2.2) has no way to write. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
};

/** Writes the document. */
export function junitXml(suites: readonly JunitSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts(all)}>`,
    ...suites.map(suiteXml),
    '</testsuites>',
    '',
  ].join('\n');
}

function suiteXml({ name, cases }: JunitSuite): string {
  return [
    `  <testsuite name="${escaped(name)}" ${counts(cases)}>`,
    ...cases.map((one) => caseXml(name, one)),
    '  </testsuite>',
  ].join('\n');
}

function caseXml(suite: string, { name, seconds, failure, error, output }: JunitCase): string {
  return [
    `    <testcase classname="${escaped(suite)}" name="${escaped(name)}" time="${seconds.toFixed(3)}">`,
    ...(failure === null ? [] : [`      <failure message="${escaped(failure)}"/>`]),
    ...(error === null ? [] : [`      <error message="${escaped(error)}"/>`]),
    ...(output === '' ? [] : [`      <system-out>${escaped(output)}</system-out>`]),
    '    </testcase>',
  ].join('\n');
}

function counts(cases: readonly JunitCase[]): string {
  const failures = cases.filter(({ failure }) => failure !== null).length;
  const errors = cases.filter(({ error }) => error !== null).length;
  const seconds = cases.reduce((sum, one) => sum + one.seconds, 0);
  return `tests="${cases.length}" failures="${failures}" errors="${errors}" time="${seconds.toFixed(3)}"`;
}

/** Text that keeps its meaning in an attribute, too, where a parser would turn line ends into spaces. */
function escaped(text: string): string {
  return text.replace(UNWRITABLE, '\ufffd').replace(/[&<>"\n\r\t]/g, (sign) => ENTITIES[sign] ?? sign);
}
