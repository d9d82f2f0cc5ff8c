import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './document-blocks.ts';
import { tempFolder } from './paybell.ts';

/** Files that npm scripts and a few tests of a checkout need. */
const FILES = ['src', 'demo', 'test/support', 'package.json', '.env.example', 'bunfig.toml', 'tsconfig.json'];

/** Copies the checkout into a temporary folder, for commands that change it or create files in it. */
export function copyCheckout(): { path: string; remove: () => void } {
  const folder = tempFolder();
  for (const file of FILES) cpSync(join(ROOT, file), join(folder.path, file), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
  return folder;
}
