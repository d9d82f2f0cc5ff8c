import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '../..');

/** The commands that a section of a page tells people to type, block by block. */
export async function shellBlocksUnder(page: string, heading: string): Promise<string[]> {
  const text = await Bun.file(resolve(ROOT, page)).text();
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

/** Runs a block as it stands, in a folder of its own: `npm run -s paybell --` there is this checkout's Paybell. */
export async function runBlock(block: string, folder: string, settings: Readonly<Record<string, string>> = {}) {
  const tools = join(folder, '.tools');
  mkdirSync(tools, { recursive: true });
  const npm = `#!/bin/sh
[ "$1 $2 $3 $4" = "run -s paybell --" ] || { echo "unexpected: npm $*" >&2; exit 64; }
shift 4
exec "${process.execPath}" "${join(ROOT, 'src/main.ts')}" "$@"
`;
  writeFileSync(join(tools, 'npm'), npm);
  chmodSync(join(tools, 'npm'), 0o755);
  const child = Bun.spawn(['sh', '-eu', '-c', block], {
    cwd: folder,
    env: { PATH: `${tools}:${process.env.PATH ?? ''}`, HOME: folder, ...settings },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exitCode };
}
