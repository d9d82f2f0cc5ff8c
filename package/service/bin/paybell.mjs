#!/usr/bin/env node
// Starts Paybell where there is no POSIX shell, as on Windows: the same as the script beside it, in a process of its own.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);

const system = process.platform === 'win32' ? 'windows' : process.platform;
const processor = process.arch === 'arm64' ? 'aarch64' : process.arch;
const runtime = `@oven/bun-${system}-${processor}`;

/** The folder of an installed package, or null. */
function folderOf(name) {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

/** Where a project has the package bun too, the install script of that package moves the file. */
function findBun() {
  const names = [runtime, `${runtime}-musl`];
  const folders = names.map(folderOf).filter((folder) => folder !== null);
  const moved = folders.length === 0 ? null : folderOf('bun');
  const files = folders.map((folder) => join(folder, 'bin', system === 'windows' ? 'bun.exe' : 'bun'));
  return [...files, ...(moved === null ? [] : [join(moved, 'bin/bun.exe')])].find((file) => existsSync(file));
}

const bun = findBun();
if (bun === undefined) {
  process.stderr.write(
    `error: Bun is not installed for this system: the package ${runtime} is missing.\n` +
      'Install Paybell again with its optional dependencies: npm install --include=optional paybell\n',
  );
  process.exit(1);
}

// A bunfig.toml in the working directory could make it load foreign code.
const args = [`--config=${join(root, 'lib/bunfig.toml')}`, join(root, 'lib/main.js'), ...process.argv.slice(2)];
const child = spawn(bun, args, { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`error: Bun could not be started: ${error.message}\n`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
