import { join, resolve } from 'node:path';
import root from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import type { ReleaseTexts } from './agreement.ts';

const ROOT = resolve(import.meta.dir, '../..');
const PAGES = ['*.md', 'docs/**/*.md', 'package/*/README.md', 'deploy/**/*.yaml', 'compose.yaml', 'Dockerfile'];

/** The texts of this checkout. */
export async function readReleaseTexts(today: string): Promise<ReleaseTexts> {
  const found = PAGES.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)]);
  const paths = found.filter((path) => path !== 'CHANGELOG.md').sort();
  const pages = await Promise.all(paths.map(async (path) => [path, await read(path)] as const));
  return {
    version: root.version,
    lockedVersions: [lock.version, lock.packages[''].version],
    changelog: await read('CHANGELOG.md'),
    pages: Object.fromEntries(pages),
    today,
  };
}

function read(path: string): Promise<string> {
  return Bun.file(join(ROOT, path)).text();
}
