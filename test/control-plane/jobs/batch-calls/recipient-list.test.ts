import { describe, expect, it } from 'vitest';
import { checkedList, readRecipientList } from '#control-plane/jobs/batch-calls/recipient-list.ts';
import { InvalidRequest, type ValidationEntry } from '#control-plane/platform/http/problems.ts';
import { turnsDuring } from '../../../turns-until.ts';

const read = async (text: string | Buffer) => {
  const { rows, faulty } = await readRecipientList(Buffer.from(text));
  return { recipients: rows.map(({ recipient }) => recipient), lines: rows.map(({ line }) => line), faulty };
};
const texts = (entries: readonly ValidationEntry[]) =>
  entries.map(({ msg }) => msg.replace('Value error, ', ''));

async function flawsOf(text: string | Buffer): Promise<string[]> {
  try {
    return texts((await read(text)).faulty);
  } catch (error) {
    if (error instanceof InvalidRequest) return texts(error.entries);
    throw error;
  }
}

describe('a recipient list', () => {
  it('has numbers, and puts all other columns into variables', async () => {
    const { recipients, lines } = await read(
      'to_number,name,end_user_id,metadata,city\r\n+1 (415) 555-0123,"Bo, the ""Great""",u1,"{""order"": ' +
        '7}",Berlin\r\n+14155550124,Ada,,,\r\n',
    );
    expect(recipients).toEqual([
      {
        to_number: '+14155550123',
        end_user_id: 'u1',
        metadata: { order: 7 },
        dynamic_variables: { name: 'Bo, the "Great"', city: 'Berlin' },
      },
      { to_number: '+14155550124', dynamic_variables: { name: 'Ada' } },
    ]);
    expect(lines).toEqual([2, 3]);
  });

  it('may have extensions, and a column extension is a variable', async () => {
    const { recipients } = await read(
      'to_number,to_extension,extension\n+14155550123,",,204#",9\n+14155550124,,\n',
    );
    expect(recipients).toEqual([
      { to_number: '+14155550123', to_extension: ',,204#', dynamic_variables: { extension: '9' } },
      { to_number: '+14155550124', dynamic_variables: {} },
    ]);
    expect(await flawsOf('to_number,to_extension\n+14155550123,12x')).toEqual([
      expect.stringMatching(/^line 2: to_extension: .*must be keys/),
    ]);
  });

  it('may come from any spreadsheet: byte order mark, semicolons, tabs, empty lines', async () => {
    expect((await read('\uFEFFto_number;name\n\n+14155550123;Bo\n;\n')).recipients).toEqual([
      { to_number: '+14155550123', dynamic_variables: { name: 'Bo' } },
    ]);
    expect((await read('to_number\tname\n+14155550123\tBo')).recipients).toHaveLength(1);
  });

  it('may use any line endings, also mixed, and each line is counted once', async () => {
    const people = [
      { to_number: '+14155550123', dynamic_variables: { name: 'Bo' } },
      { to_number: '+14155550124', dynamic_variables: { name: 'Zoë 🎉' } },
    ];
    for (const [first, second] of [
      ['\r\n', '\n'],
      ['\n', '\r\n'],
      ['\r', '\r'],
      ['\r\n', '\r\n'],
    ])
      expect(await read(`to_number;name${first}+14155550123;Bo${second}+14155550124;Zoë 🎉`)).toEqual({
        recipients: people,
        lines: [2, 3],
        faulty: [],
      });
    expect((await read('\n\nto_number;name\n+14155550123;Bo')).lines).toEqual([4]);
  });

  it('reports every invalid row with its line and reason', async () => {
    const list =
      'to_number,metadata,end_user_id\n+14155550123,not json,\n,{},\n+14155550124,{},' +
      `${'u'.repeat(300)}\n+14155550125,{}\n+14155550126,{},fine`;
    const flaws = await flawsOf(list);
    expect(flaws).toHaveLength(4);
    expect(flaws[0]).toMatch(/^line 2: metadata: /);
    expect(flaws[1]).toBe('line 3: to_number: Field required');
    expect(flaws[2]).toMatch(/^line 4: end_user_id: Input is above the maximum of 256/);
    expect(flaws[3]).toBe('line 5: has 2 columns where the first line has 3');
  });

  it('returns the readable rows together with the unreadable ones', async () => {
    const { recipients, lines, faulty } = await read('to_number\n+14155550123,extra\n+14155550124\n');
    expect([recipients.map(({ to_number }) => to_number), lines]).toEqual([['+14155550124'], [3]]);
    expect(texts(faulty)).toEqual(['line 2: has 2 columns where the first line has 1']);
  });

  it('has at most as many rows as a batch', async () => {
    expect(await flawsOf(`to_number\n${'+1,\n'.repeat(10_001)}`)).toEqual([
      'the file has more than 10000 rows: split it into several batches',
    ]);
  });

  it('security 8: has at most 200 columns', async () => {
    const columns = (count: number) =>
      ['to_number', ...Array.from({ length: count - 1 }, (_, index) => `c${index}`)].join();
    expect(await flawsOf(`${columns(201)}\n+1`)).toEqual([
      'the file has more than 200 columns: keep those that the agent uses',
    ]);
    expect((await read(`${columns(200)}\n+14155550123${',x'.repeat(199)}`)).recipients).toHaveLength(1);
  });

  it('security 8: yields to other work while it is read', async () => {
    let [turns, isRead] = [0, false];
    const count = () => {
      turns += 1;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const list = `to_number,name\n${`+14155550123,${'x'.repeat(1_000)}\n`.repeat(1_000)}`;
    expect((await read(list)).recipients).toHaveLength(1_000);
    isRead = true;
    expect(turns).toBeGreaterThan(list.length / 10_000);
  });

  it('security 8: yields to other work while a JSON list or wide rows are checked', async () => {
    const entries = Array.from({ length: 2_000 }, (_, index) => ({
      to_number: `+1415555${index}`,
      dynamic_variables: { name: 'Bo' },
    }));
    const turns = await turnsDuring(() => checkedList(entries));
    expect(turns).toBeGreaterThanOrEqual(entries.length / 10 - 1);
    expect(turns).toBeLessThan(entries.length / 10 + 5);
    const names = Array.from({ length: 199 }, (_, index) => `,c${index}`).join('');
    const wide = `to_number${names}\n${`+1${',v'.repeat(199)}\n`.repeat(300)}`;
    expect(await turnsDuring(() => read(wide))).toBeGreaterThanOrEqual(300);
  });

  it('is rejected when its first line names no columns', async () => {
    expect(await flawsOf('number,name\n+1,Bo')).toEqual(['line 1: there is no column to_number']);
    expect(await flawsOf('to_number,first name,to_number\n+1,Bo,+1')).toEqual([
      'line 1: column 2 is not a valid variable name: letters, digits and _, starting with a letter',
      'line 1: column 3 repeats an earlier name',
    ]);
    expect(await flawsOf('to_number;;\n+1;;')).toEqual([
      'line 1: column 2 has no name',
      'line 1: column 3 has no name',
    ]);
    expect(await flawsOf('to_number')).toEqual([
      'the file has no rows: a line of column names, then one line for each number',
    ]);
    expect(await flawsOf('')).toHaveLength(1);
  });

  it('is rejected when it is not CSV or not text', async () => {
    expect((await flawsOf('to_number,name\n+14155550123,"Bo\n+14155550124,Ada\n'))[0]).toMatch(
      /^the file cannot be parsed from line \d+ on/,
    );
    expect(await flawsOf(Buffer.from([0x74, 0xff, 0xfe]))).toEqual([
      'the file is not UTF-8 text: save it as "CSV UTF-8"',
    ]);
  });
});
