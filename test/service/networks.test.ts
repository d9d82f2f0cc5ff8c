import { expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { runProgram, tempFolder } from '../support/paybell.ts';

const ROOT = resolve(import.meta.dir, '../..');

/** Starts the service, lets it work for a moment, and prints which of its modules were loaded. */
const PROGRAM = `
  const { loadConfig } = await import('${ROOT}/src/config.ts');
  const { createLogger } = await import('${ROOT}/src/log.ts');
  const { startService } = await import('${ROOT}/src/service.ts');
  const service = await startService(loadConfig(process.env), createLogger('silent'));
  await Bun.sleep(300);
  await service.stop();
  const loaded = Object.keys(require.cache).filter((file) => /[/]src[/]chain[/]|[/]viem[/]/.test(file));
  console.log(JSON.stringify(loaded.map((file) => file.slice(file.lastIndexOf('/src/') + 1))));
  process.exit(0);
`;

async function loadedModules(settings: Record<string, string>): Promise<string[]> {
  const { path, remove } = tempFolder();
  try {
    const { stdout } = await runProgram([process.execPath], ['-e', PROGRAM], path, { PORT: '0', ...settings });
    return JSON.parse(stdout) as string[];
  } finally {
    remove();
  }
}

test('without CHAIN_RPC nothing that follows networks is loaded, so that no timer, socket or query of it can be', async () => {
  expect(await loadedModules({})).toEqual([]);
});

test('with CHAIN_RPC it is', async () => {
  expect(await loadedModules({ CHAIN_RPC: '8453=http://127.0.0.1:1' })).toContain('src/chain/chain.ts');
});
