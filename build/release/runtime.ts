import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import lock from '../../package-lock.json' with { type: 'json' };

const DOWNLOAD_LIMIT_MS = 300_000;

/**
 * The path of Bun for another system, from its npm package: it comes from the registry that npm is set to, and has to be the
 * file whose hash the lock file has.
 */
export async function fetchRuntime(name: string, folder: string): Promise<string> {
  const { version, integrity } = lockedRuntime(name);
  await mkdir(folder, { recursive: true });
  const packed = await run(['npm', 'pack', '--silent', `${name}@${version}`, '--pack-destination', folder], folder);
  const file = join(folder, packed.trim());
  checkIntegrity(name, await Bun.file(file).bytes(), integrity);
  await run(['tar', '-xzf', file, '-C', folder, 'package/bin/bun'], folder);
  return join(folder, 'package/bin/bun');
}

/** Throws if the packed file of a package is not the one of the lock file. */
export function checkIntegrity(name: string, packed: Uint8Array, integrity: string): void {
  const found = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  if (found !== integrity) throw new Error(`${name} is not the file that package-lock.json names: ${found}`);
}

function lockedRuntime(name: string): { version: string; integrity: string } {
  const packages: Readonly<Record<string, { version?: string; integrity?: string; link?: boolean }>> = lock.packages;
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json does not have ${name}`);
  return { version, integrity };
}

async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'pipe', timeout: DOWNLOAD_LIMIT_MS });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (exitCode === 0) return stdout;
  throw new Error(stderr.trim().split('\n').at(0) || `${command.join(' ')} ended with ${exitCode}`);
}
