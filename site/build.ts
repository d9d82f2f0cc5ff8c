import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** `npm run docs`: builds the site into dist/site. The first time, it installs what only the site needs. */

async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], { cwd: import.meta.dir, stdio: ['ignore', 'inherit', 'inherit'] });
  const exitCode = await child.exited;
  if (exitCode !== 0) process.exit(exitCode);
}

// esbuild comes as a package for each system. Its install script would only check that.
if (!existsSync(join(import.meta.dir, 'node_modules')))
  await run(['npm', 'ci', '--ignore-scripts', '--loglevel=error']);
await run(['npm', 'run', '--silent', 'build']);
