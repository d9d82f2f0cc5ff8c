import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitFaults } from './prose/commits.ts';
import { findingsIn } from './prose/findings.ts';
import { findMoves, withoutGitVariables } from './prose/moves.ts';
import { type Counts, checkProse, compareFindings } from './prose/ratchet.ts';

test('no file has more sentences that a reader stumbles over than prose-findings.json allows', async () => {
  const { risen, removed, found } = await checkProse();
  expect(Object.keys(found).length).toBeGreaterThan(700);
  // An error and not a difference, so that the lines can be read and clicked.
  if (risen.length + removed.length > 0) throw new Error([...risen, ...removed].join('\n'));
});

const faultsIn = (file: string, text: string) => findingsIn(file, text).map(({ fault }) => fault);

describe('a document', () => {
  test.each([
    ['What was lost for longer than `CHAIN_GRACE` is retracted here.', 'starts with a clause'],
    ['Those that no instance holds become superseded.', 'starts with a clause'],
    ['Of destinations without a rate limit.', 'starts with "Of"'],
    ['Returns null where no node responds.', 'uses "where"'],
    ['Waits until so many calls may start.', 'uses "so many"'],
    ['A retraction follows its original, also if the endpoint keeps no order.', 'uses "also"'],
    ['The event is not true any more.', 'any more'],
    ['A session is no webhook.', 'uses "is no'],
    ['The work is to be repeated later.', 'uses "is to be'],
    ['Each event begins a trace of its own.', 'of its own'],
    ['Requests are signed with those of the entity.', 'that of'],
    ['The feed shows what became of each delivery.', 'clause with "what"'],
    ['A row is read, is locked and is written by each step.', 'three passives'],
    ['It waits for one and then for another '.repeat(5), 'more than 32 words'],
    ['Every webhook that was told of it gets a retraction.', 'retired word (told)'],
    ['Whoever reads this repairs it.', 'retired word (Whoever)'],
    ['The service makes a hand-over of claims.', 'retired word (hand-over)'],
    ['Deliveries wait in line.', 'retired word (wait in line)'],
  ])('may not say: %s', (text, fault) => {
    expect(faultsIn('docs/page.md', text).join()).toContain(fault);
  });

  test.each([
    'Retract facts that stay lost for longer than `CHAIN_GRACE`.',
    'Returns null if no node responds.',
    'The docs describe what the contract leaves open.',
    'There is no receiver at this URL.',
    'Paybell no longer sends the event.',
    'The table lists where each file is.',
    'Paybell recommends a queue; amended rules; welfare; an inline image; in line with the rules.',
    'The retired name is `told`.',
    '## What the key may do',
    '```sh\nWhat is code is not read.\n```',
  ])('may say: %s', (text) => {
    expect(faultsIn('docs/page.md', text)).toEqual([]);
  });

  test('is read in sentences, each with the line on which it starts', () => {
    const text = '# Title\n\nThe first sentence\nis wrapped. A session\nis no webhook.\n\n| a | It was told. |\n';
    expect(findingsIn('docs/page.md', text).map(({ line, text: found }) => [line, found])).toEqual([
      [4, 'A session is no webhook.'],
      [7, 'It was told.'],
    ]);
  });
});

describe('a source', () => {
  test.each([
    ['const bellRings = 1;', 'bell'],
    ['queue.standInLine();', 'stand In Line'],
    ['queue.placeInLine();', 'In Line'],
    ['const MAX_UNWELL = 3;', 'UNWELL'],
    ['class TakenBack extends Error {}', 'Taken Back'],
  ])('may not have a name like: %s', (code, word) => {
    expect(faultsIn('src/delivery/engine.ts', `\n${code}\n${code}`)).toEqual([
      `has a name with a retired word (${word})`,
    ]);
  });

  test('may have a name that only contains such a word', () => {
    const code = 'const recommended = inline(paybell, PAYBELL_API_KEY);';
    expect(faultsIn('src/delivery/engine.ts', code)).toEqual([]);
  });

  test('is read in comments, strings and JSX, and not in SQL and drawings', () => {
    const code = [
      '/**',
      ' * Reads a page.',
      ' *',
      ' *   a drawing of those of the entity',
      ' * - An item that is',
      ' *   no webhook.',
      ' */',
      "const sql = 'select id from queue where it is no head';",
      "const label = 'The entity is no tenant.';",
      'const view = <p>The key is no secret.</p>;',
    ].join('\n');
    const lines = findingsIn('src/view.tsx', code).map(({ line, text }) => `${line} ${text}`);
    expect(lines).toEqual(['5 An item that is no webhook.', '9 The entity is no tenant.', '10 The key is no secret.']);
  });

  test('may have quotation marks in a regular expression', () => {
    const code = "const NAME = /^[\\w'`]+$/;\nconst first = 'one of those'; const second = `the key is no secret`;";
    expect(findingsIn('src/a.ts', code).map(({ text }) => text)).toEqual(['the key is no secret']);
  });

  test('may not start a comment with a pronoun', () => {
    expect(faultsIn('src/a.ts', '// It waits.\nconst a = 1;')).toEqual(['starts a comment with a pronoun or "So"']);
  });
});

describe('the number of findings of a file', () => {
  const compare = (stored: Counts, found: Counts, moves: [string, string][] = []) => {
    const finding = (file: string) => ({ file, line: 81, fault: 'uses a retired word (heard)', text: 'It was heard.' });
    const findings = Object.entries(found).map(([file, number]) => [file, Array(number).fill(finding(file))] as const);
    return compareFindings(stored, new Map(findings), new Map(moves));
  };
  const NOTHING = { risen: [], removed: [] };

  test('may fall', () => {
    expect(compare({ 'a.md': 3, 'b.md': 3 }, { 'a.md': 2, 'b.md': 3 })).toEqual(NOTHING);
  });

  test('may not rise, and a failure prints every finding of the file', () => {
    expect(compare({ 'a.md': 1, 'b.md': 1 }, { 'a.md': 1, 'b.md': 2 })).toEqual({
      risen: [
        'b.md has findings above its limit (2 > 1):',
        'b.md:81: uses a retired word (heard): It was heard.',
        'b.md:81: uses a retired word (heard): It was heard.',
        'Rewrite the new sentences; docs/voice.md has the rules. To list them: npx bun test/project/prose.ts b.md',
      ],
      removed: [],
    });
  });

  test('is 0 for a new file', () => {
    expect(compare({}, { 'a.md': 0, 'b.md': 1 }).risen[0]).toBe('b.md has findings above its limit (1 > 0):');
  });

  test('moves with the file', () => {
    expect(compare({ 'a.md': 3 }, { 'b.md': 3 }, [['a.md', 'b.md']])).toEqual(NOTHING);
    expect(compare({ 'a.md': 3 }, { 'b.md': 4 }, [['a.md', 'b.md']]).risen[0]).toContain('(4 > 3)');
  });

  test('is removed with the file, and a move that git does not see is explained', () => {
    const { risen, removed } = compare({ 'a.md': 3, 'b.md': 1 }, { 'b.md': 1, 'c.md': 3 });
    expect(removed).toEqual([
      'test/project/prose-findings.json lists files that do not exist. Run: npm run prose',
      '  a.md',
    ]);
    expect(risen.at(-1)).toBe('If c.md was moved, add it to git. Its number then moves too with: npm run prose');
  });
});

describe.skipIf(Bun.which('git') === null)('a moved file', () => {
  const folders: string[] = [];
  const newFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), 'paybell-prose-'));
    folders.push(folder);
    return folder;
  };
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const run = (folder: string, ...args: string[]) => {
    const settings = ['user.name=Test', 'user.email=test@example.com', 'commit.gpgSign=false', 'core.hooksPath=none'];
    const options = settings.flatMap((setting) => ['-c', setting]);
    const { exitCode, stderr } = Bun.spawnSync(['git', ...options, ...args], {
      cwd: folder,
      env: withoutGitVariables(),
    });
    expect([args, exitCode, stderr.toString()]).toEqual([args, 0, expect.anything()]);
  };
  const commit = (folder: string) => {
    run(folder, 'add', '--all');
    run(folder, 'commit', '--quiet', '--message', 'Change files');
  };
  const move = (folder: string, from: string, to: string) => renameSync(join(folder, from), join(folder, to));
  const moves = (folder: string, ...missing: string[]) =>
    Object.fromEntries(findMoves(folder, missing, (path) => existsSync(join(folder, path))));
  const newRepository = () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'docs'));
    for (const name of ['one', 'two'])
      writeFileSync(join(folder, `docs/${name}.md`), `The page ${name}.\n`.repeat(name.length * 5));
    run(folder, 'init', '--quiet');
    // A setting that would hide a move from the commands for people.
    run(folder, 'config', 'diff.renames', 'false');
    commit(folder);
    return folder;
  };

  test('is found before and after its commit, and when it was moved twice', () => {
    const folder = newRepository();
    move(folder, 'docs/one.md', 'docs/three.md');
    run(folder, 'add', '--all');
    expect(moves(folder, 'docs/one.md')).toEqual({ 'docs/one.md': 'docs/three.md' });
    commit(folder);
    writeFileSync(join(folder, 'docs/later.md'), 'Another commit.\n');
    commit(folder);
    expect(moves(folder, 'docs/one.md')).toEqual({ 'docs/one.md': 'docs/three.md' });
    move(folder, 'docs/three.md', 'docs/four.md');
    commit(folder);
    expect(moves(folder, 'docs/one.md')).toEqual({ 'docs/one.md': 'docs/four.md' });
  });

  test('counts as removed if git does not know the new file, or if the file is gone', () => {
    const folder = newRepository();
    move(folder, 'docs/one.md', 'docs/three.md');
    rmSync(join(folder, 'docs/two.md'));
    expect(moves(folder, 'docs/one.md', 'docs/two.md', 'docs/never.md')).toEqual({});
  });

  test('counts as removed outside of git, and in a clone without the commit of the move', () => {
    const folder = newRepository();
    move(folder, 'docs/one.md', 'docs/three.md');
    commit(folder);
    writeFileSync(join(folder, 'docs/later.md'), 'Another commit.\n');
    commit(folder);
    const clone = join(newFolder(), 'clone');
    run(folder, 'clone', '--quiet', '--depth', '1', `file://${folder}`, clone);
    expect(moves(clone, 'docs/one.md')).toEqual({});
    rmSync(join(clone, '.git'), { recursive: true });
    expect(moves(clone, 'docs/one.md')).toEqual({});
  });
});

test.each([
  ['Retract deliveries claimed during a retraction step\n\nThe step missed them.', 0],
  ['Let no delivery be due before the mark of its head: those of a late fan-out were never claimed', 4],
  ['Reject logs because a node can return two forks\n\nPaybell created two facts.', 1],
  ['Reject logs that place one transaction in two blocks\nA node can return both.', 2],
])('a commit message is checked: %s', (message, faults) => {
  expect(commitFaults(message)).toHaveLength(faults);
});
