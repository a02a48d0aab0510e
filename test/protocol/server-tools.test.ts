import { describe, expect, it } from 'vitest';
import { permittedTools, readServerTools, toolChanges } from '#protocol/server-tools.ts';

const schema = { type: 'object', properties: { day: { type: 'string' } } };
const tool = (name: string, description = '') => ({ name, description, inputSchema: schema });
const read = (...raw: unknown[]) => readServerTools(raw).tools;

describe('the tools that a server lists', () => {
  it('have a hash that does not depend on the order of keys, and changes with every part', () => {
    const [first] = read({ name: 'slots', description: 'a', inputSchema: { type: 'object', title: 'x' } });
    const [same] = read({ inputSchema: { title: 'x', type: 'object' }, description: 'a', name: 'slots' });
    expect(same).toEqual(first);
    const others = read(
      { name: 'slot', description: 'a', inputSchema: { type: 'object', title: 'x' } },
      { name: 'slots', description: 'b', inputSchema: { type: 'object', title: 'x' } },
    );
    const [schemaChanged] = read({ name: 'slots', description: 'a', inputSchema: { type: 'object' } });
    const hashes = [first, ...others, schemaChanged].map((each) => each?.hash);
    expect(new Set(hashes).size).toBe(4);
  });

  it('keep a schema whose keys a store would change', () => {
    const inputSchema = { type: 'object', $defs: { constructor: { $ref: '#' } } };
    expect(JSON.parse(read({ name: 'a', inputSchema })[0]?.input_schema ?? '')).toEqual(inputSchema);
  });

  it.each([
    ['a name of other characters', tool('a b'), 'the name must be'],
    ['a long description', tool('a', 'x'.repeat(4_001)), 'the description has more than'],
    ['a large schema', { name: 'a', inputSchema: { ...schema, title: 'x'.repeat(17_000) } }, 'at most 16384'],
    [
      'a deep schema',
      {
        name: 'a',
        inputSchema: { type: 'object', not: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) },
      },
      'at most 100 levels',
    ],
    ['a schema of another type', { name: 'a', inputSchema: { type: 'string' } }, 'type object'],
    ['no schema', { name: 'a' }, ''],
    ['no name', 7, ''],
  ])('are refused and named with %s, without the others', (_title, bad, reason) => {
    const { tools, refused } = readServerTools([tool('first'), bad, tool('last')]);
    expect(tools.map(({ name }) => name)).toEqual(['first', 'last']);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.reason).toContain(reason);
  });

  it('are refused above the limits of a list', () => {
    const many = readServerTools(Array.from({ length: 200 }, (_, index) => tool(`t${index}`)));
    expect(many.tools).toHaveLength(128);
    expect(many.refused).toEqual([{ name: '…', reason: 'only the first 128 tools are read' }]);
    const large = { ...schema, title: 'x'.repeat(15_000) };
    const full = readServerTools(
      Array.from({ length: 40 }, (_, index) => ({ name: `t${index}`, inputSchema: large })),
    );
    expect(full.tools.length).toBe(34);
    expect(full.refused.at(-1)?.reason).toContain('524288 bytes');
    expect(readServerTools([tool('a'), tool('a')]).refused).toEqual([
      { name: 'a', reason: 'the name is listed twice' },
    ]);
  });

  it('are compared by name and hash, and permitted by name', () => {
    const before = read(tool('kept'), tool('gone'), tool('other', 'one'));
    const after = read(tool('other', 'two'), tool('kept'), tool('new'));
    const { added, removed, changed } = toolChanges(before, after);
    expect(added.map(({ name }) => name)).toEqual(['new']);
    expect(removed.map(({ name }) => name)).toEqual(['gone']);
    expect(changed.map((each) => [each.before.description, each.after.description])).toEqual([
      ['one', 'two'],
    ]);
    expect(permittedTools(after, ['kept', 'unknown']).map(({ name }) => name)).toEqual(['kept']);
    expect(permittedTools(after, null)).toEqual(after);
  });
});
