import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { buildExecutable } from '../build/executable.ts';
import { startCluster } from './support/postgres.ts';

/**
 * `npm test`: every test file, in processes that share one PostgreSQL. By itself, each file that needs one would start
 * and stop its own. `npm test -- test/store` runs some of them.
 */

// Beside the runtime: a folder for temporary files may be one whose programs the system does not run.
const executable = resolve(import.meta.dir, `../node_modules/.cache/paybell-test-${process.pid}`);
await buildExecutable(executable);
const cluster = await startCluster();
/** One more than there are cores, since tests wait for a third of their time. Each needs half a gigabyte. */
const processes = Math.min(availableParallelism(), 4) + 1;
const options = ['--timeout', '600000', `--parallel=${processes}`, '--no-isolate'];
const child = Bun.spawn([process.execPath, 'test', ...options, ...process.argv.slice(2)], {
  env: { ...process.env, TEST_DATABASE_URL: cluster.adminUrl, TEST_EXECUTABLE: executable },
  stdio: ['inherit', 'inherit', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const exitCode = await child.exited;
await cluster.stop();
rmSync(executable, { force: true });
process.exit(exitCode);
