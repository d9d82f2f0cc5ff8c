/**
 * Finds where git sees that missing files were moved to. These are plumbing commands with explicit options, so that no
 * setting of the user changes their output. Without git, or without the commit of the move, a file counts as removed.
 */

const RENAMES = ['-M50%', '-l2000', '-z', '--name-status', '--diff-filter=R', '--relative'];
/** A file that was moved more often between two runs counts as removed. */
const MAX_MOVES = 10;

/** The present path of each missing file that was moved. */
export function findMoves(root: string, missing: readonly string[], exists: (path: string) => boolean) {
  const moves = new Map<string, string>();
  if (missing.length === 0) return moves;
  const uncommitted = renamesIn(git(root, ['diff-index', ...RENAMES, 'HEAD']));
  for (const from of missing) {
    let to: string | undefined = from;
    for (let step = 0; step < MAX_MOVES && to !== undefined && !exists(to); step++)
      to = uncommitted.get(to) ?? committedMove(root, to);
    if (to !== undefined && exists(to)) moves.set(from, to);
  }
  return moves;
}

/** The last commit that touched a missing file is the one that moved or removed it. */
function committedMove(root: string, path: string): string | undefined {
  const commit = git(root, ['rev-list', '-1', 'HEAD', '--', path]).trim();
  if (commit === '') return undefined;
  return renamesIn(git(root, ['diff-tree', '-r', '--no-commit-id', ...RENAMES, commit])).get(path);
}

/** Reads `R087 NUL from NUL to NUL …`. */
function renamesIn(output: string): Map<string, string> {
  const fields = output.split('\0');
  const renames = new Map<string, string>();
  for (let at = 0; at + 2 < fields.length; at += 3) renames.set(fields[at + 1] ?? '', fields[at + 2] ?? '');
  return renames;
}

function git(root: string, args: readonly string[]): string {
  const command = Bun.which('git');
  if (command === null) return '';
  const { exitCode, stdout } = Bun.spawnSync([command, ...args], {
    cwd: root,
    env: withoutGitVariables(),
    stderr: 'ignore',
  });
  return exitCode === 0 ? stdout.toString() : '';
}

/** A hook of git sets variables that would lead to another repository or index. */
export function withoutGitVariables(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
}
