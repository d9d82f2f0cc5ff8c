import { startCluster } from './support/postgres.ts';

/**
 * `npm test`: every test file, in two processes that share one PostgreSQL. By itself, each file that needs one would start
 * and stop its own. `npm test -- test/store` runs some of them.
 */

const cluster = await startCluster();
const options = ['--timeout', '120000', '--parallel=2', '--no-isolate'];
const child = Bun.spawn([process.execPath, 'test', ...options, ...process.argv.slice(2)], {
  env: { ...process.env, TEST_DATABASE_URL: cluster.adminUrl },
  stdio: ['inherit', 'inherit', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const exitCode = await child.exited;
await cluster.stop();
process.exit(exitCode);
